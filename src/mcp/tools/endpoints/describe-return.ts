import type { KnownKey } from "../../../contract/access.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import type { Fact } from "../../approval/approval-request.ts";

/** Whether what is deleted on this deployment can come back, in the words of the preview. */
export type Return = {
  /** Behind the title, where nothing comes back. */
  readonly ending: string;
  readonly fact: Fact;
};

export function describeReturn({ name: kind }: ResourceKind, { binDays }: KnownKey): Return {
  const name = "can it come back";
  if (kind === "project") return forEver(name, "no, it is deleted for ever");
  const comesAlong = bringsBack[kind];
  if (binDays === undefined || comesAlong === undefined) {
    const lost = kind === "link" ? " and without its clicks" : "";
    return forEver(
      name,
      `no, it is deleted for ever; undo can only make it anew, with a new id${lost}`,
    );
  }
  return { ending: "", fact: { name, text: `yes, for ${binDays} days, ${comesAlong}` } };
}

/** What comes back with each kind, and what may keep it from coming. */
const bringsBack: Readonly<Record<string, string>> = {
  link: "with its clicks and short address, unless its path is taken by then",
  ios_app: "with the links that open it, unless its bundle id is taken by then",
  android_app: "with the links that open it, unless its package name is taken by then",
};

function forEver(name: string, text: string): Return {
  return { ending: " for ever", fact: { name, text } };
}
