import type { Account } from "../account.ts";
import type { Html } from "../html.ts";
import { shorten } from "../parts.ts";
import { readNumber, readRecord, readRecords, readText } from "../read.ts";
import { renderField, type Choice } from "../form-fields.ts";
import { appKinds, type AppKind } from "./app-kinds.ts";

/** The apps that a link can open: some to choose, and any other by what it is called. */

export type AppChoices = {
  readonly kind: AppKind;
  readonly choices: readonly Choice[];
  /** How many there are beside those. */
  readonly more: number;
};

const mostListed = 25;
const mostOfName = 80;

/** Undefined where the key may not list them. */
export async function listAppChoices(
  { mayUse, call, readRecord: read }: Account,
  name: string,
  chosen: string,
): Promise<AppChoices | undefined> {
  const kind = appKinds.find((each) => each.name === name);
  if (kind === undefined || !mayUse(`list_${name}s`)) return undefined;
  const answer = await call(`list_${name}s`, { limit: mostListed });
  if (answer.kind !== "done") return undefined;
  const listed = readRecords(answer.result, `${name}s`);
  const isListed = chosen === "" || listed.some((app) => readText(app, "id") === chosen);
  const found = isListed ? undefined : await read(kind.name, chosen);
  const own = found?.kind === "done" ? found.result : { id: chosen };
  const apps = isListed ? listed : [...listed, own];
  const count = readNumber(readRecord(answer.result, "meta"), "count");
  return {
    kind,
    choices: apps.map((app) => {
      const id = readText(app, "id");
      const called = readText(app, "name") || readText(app, kind.identifier) || id;
      return { value: id, name: shorten(called, mostOfName) };
    }),
    more: Math.max(0, count - listed.length),
  };
}

/** What is typed there counts, whatever is chosen in the list. */
export function nameOther(name: string): string {
  return `${name}.other`;
}

/** Nothing where all of them are listed. */
export function renderOther({ kind, more }: AppChoices, typed: string): Html | string {
  if (more === 0 && typed === "") return "";
  const name = nameOther(kind.name);
  const unlisted = more === 0 ? "" : `${more.toLocaleString("en")} more are not listed. `;
  const identifier = kind.name === "ios_app" ? "bundle ID" : "package name";
  const hint = `${unlisted}To choose another app, type its name or ${identifier}.`;
  const label = `Another ${kind.label}`;
  return renderField({ name, kind: "text", label, hint, isExact: true }, { [name]: typed });
}
