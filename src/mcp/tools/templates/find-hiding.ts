import type { TemplateProblem } from "../../../template/page-input.ts";
import type { Call } from "../tool.ts";
import { isText, type ReadText, type TemplateText } from "./template-state.ts";

/** What of a template hides the buttons by which visitors go on. */

export async function findHiding({ body, css }: TemplateText): Promise<readonly TemplateProblem[]> {
  // What reads templates is large, and few calls need it.
  const { findHiddenButtons } = await import("../../../template/find-hidden-buttons.ts");
  return findHiddenButtons({ body, css });
}

/** Only our own service is known to draw its page in the way that is judged. */
export async function findHidingOfOwn(
  text: ReadText,
  { keyContext }: Pick<Call, "keyContext">,
): Promise<readonly TemplateProblem[]> {
  return keyContext.checksConditions && isText(text) ? findHiding(text) : [];
}

export function describeHiding({ field, line, message }: TemplateProblem): string {
  return `${field}, line ${line}: ${message}`;
}
