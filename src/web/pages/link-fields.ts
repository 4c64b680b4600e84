import type { JsonObject } from "../../contract/json.ts";
import type { Account, Failure, FieldProblem } from "../account.ts";
import {
  readTyped as readTypedFields,
  readValues as readFieldValues,
  renderField,
  renderOthers,
  renderShown,
  writeFields,
  type Choice,
  type Field,
  type Values,
} from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form } from "../page.ts";
import { renderHidden } from "../parts.ts";
import { readRecords, readText } from "../read.ts";

/** The fields of a link in a form. */

type LinkField = Field & {
  /** The tool that lists the apps that there are to choose. */
  readonly lists?: string;
};

type Group = {
  readonly name: string;
  readonly isRare?: boolean;
  readonly fields: readonly LinkField[];
};

const groups: readonly Group[] = [
  {
    name: "Link",
    fields: [
      { name: "name", kind: "text", hint: "For you and your assistant." },
      { name: "path", kind: "text", hint: "Behind the host. A new link without one is given one." },
      {
        name: "url",
        kind: "text",
        isBroad: true,
        hint: "For desktops, and phones without the app.",
      },
    ],
  },
  {
    name: "On phones",
    fields: [
      { name: "ios_app", kind: "choice", member: "ios_app_id", lists: "list_ios_apps" },
      {
        name: "android_app",
        kind: "choice",
        member: "android_app_id",
        lists: "list_android_apps",
      },
      { name: "ios_fallback_url", kind: "text", hint: "On iPhones without the app." },
      { name: "android_fallback_url", kind: "text", hint: "On Android without the app." },
      { name: "enable_forced_redirect", kind: "check", hint: "Go on without the preview page." },
    ],
  },
  {
    name: "When it is shared",
    fields: [
      { name: "social_title", kind: "text" },
      { name: "social_image_url", kind: "text" },
      { name: "social_description", kind: "area", isBroad: true },
    ],
  },
  {
    name: "Campaigns and deferred deep links",
    isRare: true,
    fields: [
      { name: "referrer", kind: "text", hint: "For Android's install referrer. Pro plan." },
      { name: "provider_token", kind: "text", hint: "Of the App Store. Pro plan." },
      { name: "campaign_token", kind: "text", hint: "Of the App Store. Pro plan." },
      {
        name: "ios_deferred_deep_linking_enabled",
        kind: "check",
        hint: "After an installation, open what was tapped. Pro plan.",
      },
    ],
  },
];
export const linkFields = groups.flatMap((group) => group.fields);

/** Those in which any text may stand. */
export const textFields = listNames("text", "area");
/** Those that are on or off. */
export const flagFields = listNames("check");

function listNames(...kinds: readonly Field["kind"][]): readonly string[] {
  return linkFields.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
}

/** The values of a link that is there. */
export function readValues(link: JsonObject): Values {
  return readFieldValues(linkFields, link);
}

export function readTyped(form: Form): Values {
  return readTypedFields(linkFields, form);
}

/** The arguments of a call that gives a link these values. */
export function writeChanges(typed: Values, names: readonly string[]): JsonObject {
  const written = Object.entries(writeFields(linkFields, typed, names));
  return Object.fromEntries(
    written.map(([name, value]) => [name, isApp(name) ? chooseApp(String(value)) : value]),
  );
}

function isApp(name: string): boolean {
  return linkFields.some((field) => field.name === name && field.lists !== undefined);
}

function chooseApp(id: string): JsonObject | null {
  return id === "" ? null : { id };
}

type Shown = {
  readonly account: Account;
  readonly values: Values;
  /** What a change is held against; left out for a link that is not there yet. */
  readonly shown?: Values;
  readonly failure?: Failure | undefined;
};

export async function renderFields({ account, values, shown, failure }: Shown): Promise<Html> {
  const problems = (failure?.problems ?? []).map(placeProblem);
  const placed = failure?.problems === undefined ? failure : { ...failure, problems };
  const rendered = await Promise.all(
    groups.map(async (group) => {
      const inner = await Promise.all(
        group.fields.map((field) => renderLinkField(field, values, problems, account)),
      );
      const isOpen = group.fields.some(({ name }) => values[name] !== "" || hasProblem(name));
      return renderGroup(group, inner, isOpen);
    }),
  );
  return html`${renderOthers(linkFields, placed)}
  ${shown === undefined ? "" : renderShown(linkFields, shown)} ${rendered}`;

  function hasProblem(name: string): boolean {
    return problems.some(({ field }) => field === name);
  }
}

/** An app's own fields are the app's. */
function placeProblem({ field = "", message }: FieldProblem): FieldProblem {
  return { message, field: field.replace(/\..*$/, "").replace(/^(ios_app|android_app)_id$/, "$1") };
}

function renderGroup({ name, isRare = false }: Group, inner: readonly unknown[], isOpen: boolean) {
  const body = html`<div class="pair">${inner}</div>`;
  if (!isRare) {
    return html`<fieldset>
      <legend>${name}</legend>
      ${body}
    </fieldset>`;
  }
  const open = isOpen ? html` open` : "";
  return html`<details class="more" ${open}>
    <summary>${name}</summary>
    ${body}
  </details>`;
}

async function renderLinkField(
  field: LinkField,
  values: Values,
  problems: readonly FieldProblem[],
  account: Account,
): Promise<Html | string> {
  const { name, lists } = field;
  if (lists === undefined) return renderField(field, values, problems);
  const value = values[name] ?? "";
  const choices = await listApps(lists, value, account);
  if (choices === undefined) return value === "" ? "" : renderHidden(name, value);
  return renderField({ ...field, choices }, values, problems);
}

const mostApps = 100;

/** Undefined where the key may not list them. */
async function listApps(
  lists: string,
  value: string,
  { mayUse, call }: Account,
): Promise<readonly Choice[] | undefined> {
  if (!mayUse(lists)) return undefined;
  const answer = await call(lists, { limit: mostApps });
  if (answer.kind !== "done") return undefined;
  const apps = readRecords(answer.result, lists.replace("list_", ""));
  const known = apps.map((app) => {
    const identifier = readText(app, "bundle_id") || readText(app, "package_name");
    return { value: readText(app, "id"), name: readText(app, "name") || identifier };
  });
  const isKnown = value === "" || known.some((choice) => choice.value === value);
  return [{ value: "", name: "None" }, ...known, ...(isKnown ? [] : [{ value, name: value }])];
}
