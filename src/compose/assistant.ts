import { existsSync } from "node:fs";
import { join } from "node:path";
import { createBulk } from "../bulk/bulk.ts";
import { UsageFault, type Config } from "../config.ts";
import { createKeyContext, type KnownKey, type KeyContext } from "../mcp/access/key-context.ts";
import { createGate } from "../mcp/approval/require-approval.ts";
import { createServer } from "../mcp/protocol/server.ts";
import { createToolbox, UnknownTool, type Toolbox } from "../mcp/tools/toolbox.ts";
import { openState, type State } from "../state/state.ts";
import { prepareDataFolder, stateFile } from "./data-folder.ts";
import type { Deployment } from "./deployment.ts";
import { clock, random } from "./embedded.ts";
import { openClient, sleep } from "./open-client.ts";

/** What stdio and HTTP have in common: tools, approvals and what each key sees. */
export type Assistant = {
  readonly createKeyContext: (
    caller: { readonly key: string | undefined; readonly known: KnownKey },
    onChange: () => void,
  ) => KeyContext;
  readonly createServer: (keyContext: KeyContext) => ReturnType<typeof createServer>;
  /** Looks what earlier processes left unfinished, before anybody is served. */
  readonly recall: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type AssistantOptions = {
  readonly config: Config;
  readonly toolbox: Toolbox;
  readonly deployment: Deployment;
  readonly version: string;
  readonly state: LazyState;
  /** The address of an approval's page, which is open from now on. */
  readonly openPage: (id: string) => Promise<string>;
  readonly report: (error: unknown) => string;
};

export function createAssistant(options: AssistantOptions): Assistant {
  const { config, toolbox, deployment, version, state, openPage, report } = options;
  const { mode, scopes } = config;
  const gate = createGate({
    mode,
    hasPin: config.secrets.approval_pin_file !== undefined,
    openState: state.open,
    openPage,
    clock,
  });
  const life = new AbortController();
  const bulk = createBulk({ openState: state.open, clock, random, sleep, report });
  return {
    createKeyContext: ({ key, known }, onChange) =>
      createKeyContext({
        client: openClient(deployment, { key, life: life.signal, openState: state.open, report }),
        bulk,
        origin: deployment.origin,
        key,
        scopes,
        known,
        isOffered: ({ tool }) => toolbox.find(tool) !== undefined,
        lookUp: prepareLookUp(deployment, key, report),
        onChange,
      }),
    recall: async () => {
      // Whoever cannot be told of old jobs can be served all the same.
      if (state.exists()) await bulk.recall().catch(report);
    },
    createServer: (keyContext) => createServer({ toolbox, keyContext, gate, version, report }),
    close: async () => {
      await bulk.close();
      life.abort();
      await state.close();
    },
  };
}

/** A store that cannot be asked teaches nothing new; the call itself tells what is wrong. */
function prepareLookUp(
  { followKey }: Deployment,
  key: string | undefined,
  report: (error: unknown) => string,
): () => Promise<KnownKey | undefined> {
  if (key === undefined) return () => Promise.resolve(undefined);
  const look = followKey(key);
  return () =>
    look().catch((error: unknown) => {
      report(error);
      return undefined;
    });
}

/** What is known of the configured key, or of any that a caller shows. */
export async function learnKey(
  { base_url, link_origin }: Config,
  { followKey }: Deployment,
  key: string | undefined,
): Promise<KnownKey> {
  const known = key === undefined ? undefined : await followKey(key)();
  // A deployment elsewhere tells nobody where its links live, so the operator may.
  const linkHost = base_url === undefined ? undefined : link_origin;
  return known ?? { facts: undefined, linkHost, hasSecondHost: false, linkInReferrer: false };
}

/** A wrong choice is refused before anything is opened, or made for the first time. */
export function chooseTools({ mode, tools: selection }: Config): Toolbox {
  try {
    return createToolbox({ mode, selection });
  } catch (error) {
    if (!(error instanceof UnknownTool)) throw error;
    throw new UsageFault(`--tools (WAYPOST_TOOLS): ${error.message}`, { cause: error });
  }
}

/** Opened by the first who needs it: most sessions destroy nothing, and leave no file behind. */
export type LazyState = {
  /** Whether anybody has needed it yet, in this process or an earlier one. */
  readonly exists: () => boolean;
  readonly open: () => Promise<State>;
  readonly close: () => Promise<void>;
};

export function prepareState({ data }: Pick<Config, "data">): LazyState {
  const file = join(data, stateFile);
  let opening: Promise<State> | undefined;

  async function open(): Promise<State> {
    prepareDataFolder(data);
    return openState(file, { clock, random });
  }

  return {
    exists: () => existsSync(file),
    open: () => {
      opening ??= open().catch((error: unknown) => {
        // The next one who asks tries again.
        opening = undefined;
        throw error;
      });
      return opening;
    },
    close: async () => {
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}
