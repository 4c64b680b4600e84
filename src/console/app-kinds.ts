import type { Account } from "./account.ts";
import { renderField, type Choice, type Field } from "./form-fields.ts";
import type { Part } from "./html.ts";
import { shorten, writeNumber } from "./parts.ts";
import type { ListedApp } from "./records.ts";

/** Defines the two kinds of apps, iOS and Android, with the fields of their forms. */

export type AppKind = {
  readonly name: "ios_app" | "android_app";
  readonly slug: string;
  readonly label: string;
  readonly heading: string;
  readonly identifier: "bundle_id" | "package_name";
  readonly linkFilter: string;
  readonly fields: readonly Field[];
};

export function nameApp({ identifier }: AppKind, app: ListedApp): string {
  return app.name || app[identifier] || app.id;
}

const name: Field = {
  name: "name",
  kind: "text",
  hint: "Visitors see this name on preview pages.",
};
const scheme: Field = {
  name: "custom_scheme",
  kind: "text",
  isExact: true,
  hint: "For example, myapp. The Open button on preview pages uses it to open the app.",
};

export const appKinds: readonly AppKind[] = [
  {
    name: "ios_app",
    slug: "ios",
    label: "iOS app",
    heading: "iOS",
    identifier: "bundle_id",
    linkFilter: "ios_app_bundle_id",
    fields: [
      name,
      {
        name: "bundle_id",
        kind: "text",
        isExact: true,
        hint: "As in Xcode, for example com.example.app.",
      },
      {
        name: "team_id",
        kind: "text",
        isExact: true,
        hint: "Ten characters. Find it at developer.apple.com, under Membership.",
      },
      {
        name: "app_store_id",
        label: "App Store ID",
        kind: "text",
        isExact: true,
        hint: "The number in the app's App Store address. Links need it to open the store.",
      },
      scheme,
      {
        name: "clip_bundle_id",
        label: "App Clip bundle ID",
        kind: "text",
        isExact: true,
        hint: "Leave this empty if the app has no App Clip.",
      },
    ],
  },
  {
    name: "android_app",
    slug: "android",
    label: "Android app",
    heading: "Android",
    identifier: "package_name",
    linkFilter: "android_app_package_name",
    fields: [
      name,
      {
        name: "package_name",
        kind: "text",
        isExact: true,
        hint: "As in Google Play, for example com.example.app.",
      },
      {
        name: "fingerprints",
        label: "SHA-256 fingerprints",
        kind: "lines",
        isBroad: true,
        isExact: true,
        hint:
          "One per line, for each signing certificate. Find them in Play Console, under App " +
          "signing.",
      },
      scheme,
    ],
  },
];

export type AppChoices = {
  readonly kind: AppKind;
  readonly choices: readonly Choice[];
  readonly more: number;
};

const mostListed = 25;
const mostOfName = 80;

/** Lists the apps to choose from, by kind. `chosen` maps a kind to the ID of the selected app. */
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

/** Returns the name of the text field for the ID of an unlisted app. */
export function nameOther(name: string): string {
  return `${name}.other`;
}

export function renderOther({ kind, more }: AppChoices, typed: string): Part {
  if (more === 0 && typed === "") return "";
  const name = nameOther(kind.name);
  const unlisted = more === 0 ? "" : `${writeNumber(more)} more are not listed. `;
  const identifier = kind.name === "ios_app" ? "bundle ID" : "package name";
  const hint = `${unlisted}To choose another app, type its name or ${identifier}.`;
  const label = `Another ${kind.label}`;
  return renderField({ name, kind: "text", label, hint, isExact: true }, { [name]: typed });
}
