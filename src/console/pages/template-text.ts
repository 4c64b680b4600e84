import { digestOf } from "../../text/digest.ts";
import type { Account, Failure } from "../account.ts";
import type { Form } from "../page.ts";

/** The text of the page template: as it is kept, and as a person typed it. */

export type TemplateText = { readonly body: string; readonly css: string };

/** Undefined if the form has no such text. */
export function readTyped(form: Form | undefined): TemplateText | undefined {
  if (form === undefined || !(form.has("body") && form.has("css"))) return undefined;
  const read = (name: string) => form.read(name).replaceAll("\r\n", "\n");
  return { body: read("body"), css: read("css") };
}

/** Recognizes a text. */
export function printText({ body, css }: TemplateText): string {
  return digestOf([body, css]);
}

type Version =
  | { readonly kind: "text"; readonly text: TemplateText }
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** A version by its id, or `draft`, `live` or `starter`. */
export async function readVersion({ call }: Account, id: string): Promise<Version> {
  const answer = await call("get_template_version", { id });
  if (answer.kind === "failed") {
    return answer.failure.code === "not_found" ? { kind: "none" } : answer;
  }
  const { body = "", css = "" } = answer.result.version;
  return { kind: "text", text: { body, css } };
}
