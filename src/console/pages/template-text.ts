import { digestOf } from "../../text/digest.ts";
import type { Account, Failure } from "../account.ts";
import type { Form } from "../page.ts";
import { readRecord, readText } from "../read.ts";

/** The text of the page template: as it is kept, and as somebody has typed it. */

export type TemplateText = { readonly body: string; readonly css: string };

/** Undefined where a form is about something else. */
export function readTyped(form: Form | undefined): TemplateText | undefined {
  if (form === undefined || !(form.has("body") && form.has("css"))) return undefined;
  const read = (name: string) => form.read(name).replaceAll("\r\n", "\n");
  return { body: read("body"), css: read("css") };
}

/** By this a text is known again. */
export function printText({ body, css }: TemplateText): string {
  return digestOf([body, css]);
}

type Found =
  | { readonly kind: "text"; readonly text: TemplateText }
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** A version by its id, or `draft`, `live` or `starter`. */
export async function readVersion({ call }: Account, id: string): Promise<Found> {
  const answer = await call("get_template_version", { id });
  if (answer.kind === "done") {
    const version = readRecord(answer.result, "version");
    return {
      kind: "text",
      text: { body: readText(version, "body"), css: readText(version, "css") },
    };
  }
  if (answer.kind === "failed" && answer.failure.code !== "not_found") return answer;
  return { kind: "none" };
}
