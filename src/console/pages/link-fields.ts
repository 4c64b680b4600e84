import type { JsonObject } from "../../contract/json.ts";
import { renderField, renderOthers, writeFields, type Field, type Values } from "../form-fields.ts";
import { html, type Html, type Part } from "../html.ts";
import { renderHidden } from "../parts.ts";
import type { ShownFields } from "../record-page.ts";
import type { ShownProblem } from "../records.ts";
import { appKinds, listAppChoices, nameOther, renderOther, type AppChoices } from "../app-kinds.ts";

/** Defines and renders the fields of the form that creates or edits a link. */

type LinkField = Field & {
  /** Whether the field offers the listed apps, or takes the ID of any other app. */
  readonly app?: "listed" | "other";
};

type FieldGroup = {
  readonly name: string;
  readonly isRare?: boolean;
  readonly fields: readonly LinkField[];
};

const groups: readonly FieldGroup[] = [
  {
    name: "Link",
    fields: [
      { name: "name", kind: "text", hint: "Shown to you and your assistant, not to visitors." },
      {
        name: "path",
        kind: "text",
        hint: "The part after the host. A new link without a path gets a generated one.",
      },
      {
        name: "url",
        kind: "text",
        isBroad: true,
        hint: "Opens on computers, and on phones if the app is not installed.",
      },
    ],
  },
  {
    name: "On phones",
    fields: [
      { name: "ios_app", kind: "choice", member: "ios_app_id", app: "listed" },
      { name: nameOther("ios_app"), kind: "text", app: "other" },
      { name: "android_app", kind: "choice", member: "android_app_id", app: "listed" },
      { name: nameOther("android_app"), kind: "text", app: "other" },
      {
        name: "ios_fallback_url",
        kind: "text",
        hint: "Opens on iPhones if the app is not installed.",
      },
      {
        name: "android_fallback_url",
        kind: "text",
        hint: "Opens on Android if the app is not installed.",
      },
      { name: "enable_forced_redirect", kind: "check", hint: "Visitors are redirected at once." },
    ],
  },
  {
    name: "When the link is shared",
    fields: [
      {
        name: "social_title",
        kind: "text",
        hint: "Visitors see this title. If it is empty, they see the app's name or the host.",
      },
      { name: "social_image_url", kind: "text" },
      { name: "social_description", kind: "area", isBroad: true },
    ],
  },
  {
    name: "Campaigns and deferred links",
    isRare: true,
    fields: [
      {
        name: "referrer",
        kind: "text",
        hint: "Passed to the Android app through Google Play. Requires the Pro plan.",
      },
      {
        name: "provider_token",
        kind: "text",
        hint: "Requires the campaign token and the Pro plan.",
      },
      {
        name: "campaign_token",
        kind: "text",
        hint: "Requires the provider token and the Pro plan.",
      },
      {
        name: "ios_deferred_deep_linking_enabled",
        kind: "check",
        hint: "After the install, the app opens the link that was tapped. Requires the Pro plan.",
      },
    ],
  },
];
export const linkFields = groups.flatMap((group) => group.fields);

export const textFields = listNames("text", "area");
export const flagFields = listNames("check");

function listNames(...kinds: readonly Field["kind"][]): readonly string[] {
  const own = linkFields.filter(({ kind, app }) => kinds.includes(kind) && app === undefined);
  return own.map(({ name }) => name);
}

export function writeChanges(typed: Values, names: readonly string[]): JsonObject {
  const own = linkFields.filter(({ app }) => app === undefined);
  const apps = appKinds.flatMap(({ name }) => {
    const changed = [nameOther(name), name].filter((each) => names.includes(each));
    // If the user typed the ID of an app that is not in the menu, it overrides the selection.
    const id = changed.map((each) => typed[each] ?? "").find((each) => each !== "") ?? "";
    return changed.length === 0 ? [] : [[name, id === "" ? null : { id }] as const];
  });
  return { ...writeFields(own, typed, names), ...Object.fromEntries(apps) };
}

const destinations = new Set(["url", "ios_fallback_url", "android_fallback_url"]);

export function hasDestination(typed: Values): boolean {
  const names = linkFields.flatMap(({ name, app }) =>
    app !== undefined || destinations.has(name) ? [name] : [],
  );
  return names.some((name) => (typed[name] ?? "").trim() !== "");
}

export async function renderFields({ account, values, failure }: ShownFields): Promise<Html> {
  const { problems = [] } = failure ?? {};
  const apps = await listAppChoices(account, values);
  const rendered = groups.map((group) => {
    const inner = group.fields.map((field) => renderLinkField(field, values, problems, apps));
    const isOpen = group.fields.some(
      ({ name }) => values[name] !== "" || problems.some(({ field }) => field === name),
    );
    return renderGroup(group, inner, isOpen);
  });
  return html`${renderOthers(linkFields, failure)} ${rendered}`;
}

function renderGroup(
  { name, isRare = false }: FieldGroup,
  inner: readonly Part[],
  isOpen: boolean,
) {
  const body = html`<div class="pair">${inner}</div>`;
  if (!isRare) {
    return html`<fieldset>
      <legend>${name}</legend>
      ${body}
    </fieldset>`;
  }
  return html`<details class="more" ${isOpen && html` open`}>
    <summary>${name}</summary>
    ${body}
  </details>`;
}

function renderLinkField(
  field: LinkField,
  values: Values,
  problems: readonly ShownProblem[],
  apps: readonly AppChoices[],
): Part {
  const { name, app } = field;
  if (app === undefined) return renderField(field, values, problems);
  const value = values[name] ?? "";
  const found = apps.find(({ kind }) => name.startsWith(kind.name));
  if (app === "other") return found && renderOther(found, value);
  if (found === undefined) return value !== "" && renderHidden(name, value);
  const choices = [{ value: "", name: "None" }, ...found.choices];
  return renderField({ ...field, choices }, values, problems);
}
