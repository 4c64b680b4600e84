import type { Config } from "../config.ts";
import type { KeyContext } from "../mcp/access/key-context.ts";
import type { Toolbox } from "../mcp/tools/toolbox.ts";
import { chooseTools, createAssistant, learnKey, prepareState } from "./assistant.ts";
import type { Deployment } from "./deployment.ts";

/** What an assistant would be shown with this configuration, for whoever only wants to look. */
export type Inspection = { readonly toolbox: Toolbox; readonly keyContext: KeyContext };

type InspectOptions = {
  readonly config: Config;
  readonly version: string;
  readonly key: string | undefined;
};

export async function inspectTools(
  { config, version, key }: InspectOptions,
  deployment: Deployment,
): Promise<Inspection> {
  const toolbox = chooseTools(config);
  const { createKeyContext } = createAssistant({
    config,
    toolbox,
    deployment,
    version,
    state: prepareState(config),
    openPage: refuse,
    report: refuse,
  });
  const known = await learnKey(config, deployment, key);
  const keyContext = createKeyContext({ key, known }, () => {});
  await keyContext.explore();
  return { toolbox, keyContext };
}

/** Looking calls no tool, so nothing is ever approved or reported. */
function refuse(): never {
  throw new Error("no tool is called here");
}
