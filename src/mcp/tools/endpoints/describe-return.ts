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
  const name = "undo";
  if (kind === "project") return forEver(name, "not possible");
  const comesAlong = bringsBack[kind];
  if (binDays === undefined || comesAlong === undefined) {
    const lost = kind === "link" ? " and no clicks" : "";
    return forEver(name, `only creates it again, with a new ID${lost}`);
  }
  return { ending: "", fact: { name, text: `possible for ${binDays} days, ${comesAlong}` } };
}

/** What comes back with each kind, and what may keep it from coming. */
const bringsBack: Readonly<Record<string, string>> = {
  link: "with its clicks and short path, unless another link takes its path",
  ios_app: "unless another app takes its bundle ID; its links then open it again",
  android_app: "unless another app takes its package name; its links then open it again",
};

function forEver(name: string, text: string): Return {
  return { ending: " permanently", fact: { name, text } };
}
