import type { Account } from "../account.ts";
import type { Part } from "../html.ts";
import { shorten, writeNumber } from "../parts.ts";
import { renderField, type Choice } from "../form-fields.ts";
import { appKinds, nameApp, type AppKind } from "./app-kinds.ts";

/** The apps that a link can open: some to choose, and any other by its name. */

export type AppChoices = {
  readonly kind: AppKind;
  readonly choices: readonly Choice[];
  /** How many are not among the choices. */
  readonly more: number;
};

const mostListed = 25;
const mostOfName = 80;

/** Without the kinds that the key may not list. `chosen` has the ids of apps by their kinds. */
export async function listAppChoices(
  account: Account,
  chosen: Readonly<Record<string, string>>,
): Promise<readonly AppChoices[]> {
  const found = appKinds.map((kind) => listChoices(account, kind, chosen[kind.name] ?? ""));
  return (await Promise.all(found)).filter((each) => each !== undefined);
}

async function listChoices(account: Account, kind: AppKind, chosen: string) {
  const { name } = kind;
  const result = await account.tryCall(`list_${name}s`, { limit: mostListed });
  if (result === undefined) return undefined;
  const listed = result[`${name}s`] ?? [];
  const isListed = chosen === "" || listed.some(({ id }) => id === chosen);
  const found = isListed ? undefined : await account.readRecord(name, chosen);
  const own = found?.kind === "done" ? found.result : { id: chosen };
  const choices = (isListed ? listed : [...listed, own]).map((app) => {
    return { value: app.id, name: shorten(nameApp(kind, app), mostOfName) };
  });
  return { kind, choices, more: Math.max(0, (result.meta?.count ?? 0) - listed.length) };
}

/** A text in this field takes precedence over the choice. */
export function nameOther(name: string): string {
  return `${name}.other`;
}

/** Nothing where all of them are listed. */
export function renderOther({ kind, more }: AppChoices, typed: string): Part {
  if (more === 0 && typed === "") return "";
  const name = nameOther(kind.name);
  const unlisted = more === 0 ? "" : `${writeNumber(more)} more are not listed. `;
  const identifier = kind.name === "ios_app" ? "bundle ID" : "package name";
  const hint = `${unlisted}To choose another app, type its name or ${identifier}.`;
  const label = `Another ${kind.label}`;
  return renderField({ name, kind: "text", label, hint, isExact: true }, { [name]: typed });
}
