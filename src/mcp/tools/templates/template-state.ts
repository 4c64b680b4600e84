import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { WholeTemplateVersion } from "../../../contract/page-template.ts";
import { readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

export type TemplateText = { readonly body: string; readonly css: string };

/** The template as it is, as far as the key may read it. */
export type TemplateState = {
  /** Null where links show their default page, undefined where the key may not read. */
  readonly live: WholeTemplateVersion | null | undefined;
  readonly draft: TemplateText | undefined;
  /** Whether the project has no template at all yet. */
  readonly isAbsent: boolean;
};

export type Asking = Pick<Call, "ask" | "keyContext">;

const { pageTemplate } = contract;
const nothing: TemplateState = {
  live: null,
  draft: { body: "", css: "" },
  isAbsent: true,
};

export async function readState(call: Asking): Promise<TemplateState> {
  const { ask } = call;
  try {
    const found = await readIfAllowed(() => ask(pageTemplate.versions, {}));
    if (found === undefined) return { live: undefined, draft: undefined, isAbsent: false };
    const version = found.versions.find(({ live }) => live);
    const live = version === undefined ? null : await ask(pageTemplate.version, { id: version.id });
    return { live, draft: await readDraft(call), isAbsent: false };
  } catch (error) {
    if (!(error instanceof ToolFailure) || error.failure.code !== "not_found") throw error;
    return nothing;
  }
}

/**
 * The API shows the draft only in the answer to a save, and to save nothing changes nothing. It is
 * only asked for where there is a template: else that would be its first save. A draft that the key
 * or the operator's selection keeps from being read is left unknown.
 */
async function readDraft({ ask, keyContext }: Asking): Promise<TemplateText | undefined> {
  if (!keyContext.mayAsk(pageTemplate.save)) return undefined;
  const saved = await readIfAllowed(() => ask(pageTemplate.save, {}));
  return saved && { body: saved.body, css: saved.css };
}

/** As it is noted in the history; without what the key may not read. */
export function describeTemplate({ draft, live }: TemplateState): JsonObject {
  return {
    ...draft,
    ...(live !== undefined && { live: live && { body: live.body, css: live.css } }),
  };
}

export function pickText({ body, css }: JsonObject): Partial<TemplateText> {
  return {
    ...(typeof body === "string" && { body }),
    ...(typeof css === "string" && { css }),
  };
}
