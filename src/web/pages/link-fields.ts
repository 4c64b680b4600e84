import type { JsonObject } from "../../contract/json.ts";
import type { Account, Failure, FieldProblem } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { Form } from "../page.ts";
import { renderFault, renderHidden, writeLabel } from "../parts.ts";
import { readRecords, readText } from "../read.ts";

/** The fields of a link in a form: what stands in them, what is wrong, and what was changed. */

type Field = {
  readonly name: string;
  readonly kind: "text" | "area" | "check" | "app";
  readonly hint?: string;
  /** It has the line to itself. */
  readonly isBroad?: boolean;
  /** The tool that lists what there is to choose. */
  readonly lists?: string;
};

type Group = {
  readonly name: string;
  readonly isRare?: boolean;
  readonly fields: readonly Field[];
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
      { name: "ios_app", kind: "app", lists: "list_ios_apps" },
      { name: "android_app", kind: "app", lists: "list_android_apps" },
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
const fields = groups.flatMap((group) => group.fields);

/** What stands in the form's fields, by their names. */
export type Values = Readonly<Record<string, string>>;

/** The values of a link that is there. */
export function readValues(link: JsonObject): Values {
  const values = fields.map(({ name, kind }) => {
    const member = kind === "app" ? `${name}_id` : name;
    return [name, kind === "check" ? writeCheck(link[name] === true) : readText(link, member)];
  });
  // Each of them is a pair of texts.
  return Object.fromEntries(values) as Values;
}

export function readTyped(form: Form): Values {
  const values = fields.map(({ name, kind }) => {
    const typed = form.read(name).replaceAll("\r\n", "\n");
    return [name, kind === "check" ? writeCheck(form.has(name)) : typed];
  });
  return Object.fromEntries(values) as Values;
}

/** What stood in the fields when the form was shown. */
export function readShown(form: Form): Values {
  return Object.fromEntries(fields.map(({ name }) => [name, form.read(`was.${name}`)]));
}

const on = "on";

function writeCheck(isOn: boolean): string {
  return isOn ? on : "";
}

export function listChanged(shown: Values, typed: Values): readonly string[] {
  return fields.flatMap(({ name }) =>
    (shown[name] ?? "").replaceAll("\r\n", "\n") === (typed[name] ?? "") ? [] : [name],
  );
}

/** The arguments of a call that gives a link these values. */
export function writeChanges(typed: Values, names: readonly string[]): JsonObject {
  const changed = fields.filter(({ name }) => names.includes(name));
  return Object.fromEntries(
    changed.map(({ name, kind }) => [name, writeValue(kind, typed[name] ?? "")]),
  );
}

function writeValue(kind: Field["kind"], value: string): unknown {
  if (kind === "check") return value === on;
  if (kind === "app") return value === "" ? null : { id: value };
  return value;
}

type Shown = {
  readonly account: Account;
  readonly values: Values;
  /** What a change is held against; left out for a link that is not there yet. */
  readonly shown?: Values;
  readonly failure?: Failure | undefined;
};

export async function renderFields({ account, values, shown, failure }: Shown): Promise<Html> {
  const problems = failure?.problems ?? [];
  const rendered = await Promise.all(
    groups.map(async (group) => {
      const inner = await Promise.all(
        group.fields.map((field) => renderField(field, values, problems, account)),
      );
      const isOpen = group.fields.some(({ name }) => values[name] !== "" || hasProblem(name));
      return renderGroup(group, inner, isOpen);
    }),
  );
  const names = new Set(fields.map(({ name }) => name));
  const others = problems.filter(({ field = "" }) => !names.has(readField(field)));
  const texts = problems.length === 0 && failure ? [failure] : others;
  return html`${texts.map(({ message }) => renderFault(message))}
  ${
    shown === undefined
      ? ""
      : fields.map(({ name }) => renderHidden(`was.${name}`, shown[name] ?? ""))
  }
  ${rendered}`;

  function hasProblem(name: string): boolean {
    return problems.some(({ field = "" }) => readField(field) === name);
  }
}

/** An app's own fields are the app's. */
function readField(field: string): string {
  return field.replace(/\..*$/, "").replace(/^(ios_app|android_app)_id$/, "$1");
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

async function renderField(
  field: Field,
  values: Values,
  problems: readonly FieldProblem[],
  account: Account,
): Promise<Html | string> {
  const { name, kind, hint = "", isBroad = false } = field;
  const own = problems.filter((problem) => readField(problem.field ?? "") === name);
  const value = values[name] ?? "";
  const described = [
    ...(hint === "" ? [] : [`${name}-hint`]),
    ...own.map((_, at) => `${name}-${at}`),
  ];
  const description =
    described.length === 0 ? "" : html` aria-describedby="${described.join(" ")}"`;
  const about = html`${description}${own.length > 0 ? html` aria-invalid="true"` : ""}`;
  const look = isBroad ? "field broad" : "field";
  const faults = own.map(
    ({ message }, at) => html`<p class="error" id="${name}-${at}">${message}</p>`,
  );
  const told = html`${faults}${
    hint === "" ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`
  }`;
  if (kind === "check") {
    const checked = value === on ? html` checked` : "";
    return html`<div class="check">
      <input type="checkbox" id="${name}" name="${name}" ${about} ${checked} />
      <div><label for="${name}">${writeLabel(name)}</label>${told}</div>
    </div>`;
  }
  const label = html`<label for="${name}">${writeLabel(name)}</label>`;
  if (kind === "app") {
    const options = await renderApps(field, value, account);
    if (options === undefined) return value === "" ? "" : renderHidden(name, value);
    return html`<div class="${look}">
      ${label}<select id="${name}" name="${name}" ${about}>
        ${options}</select
      >${told}
    </div>`;
  }
  if (kind === "area") {
    return html`<div class="${look}">
      ${label}<textarea id="${name}" name="${name}" dir="auto" ${about}>${"\n"}${value}</textarea
      >${told}
    </div>`;
  }
  return html`<div class="${look}">
    ${label}<input
      id="${name}"
      name="${name}"
      value="${value}"
      dir="auto"
      autocomplete="off"
      ${about}
    />${told}
  </div>`;
}

const mostApps = 100;

/** Undefined where the key may not list them. */
async function renderApps(
  { lists = "" }: Field,
  value: string,
  { mayUse, call }: Account,
): Promise<readonly Html[] | undefined> {
  if (!mayUse(lists)) return undefined;
  const answer = await call(lists, { limit: mostApps });
  if (answer.kind !== "done") return undefined;
  const apps = readRecords(answer.result, lists.replace("list_", ""));
  const known = apps.map((app) => {
    const id = readText(app, "id");
    const identifier = readText(app, "bundle_id") || readText(app, "package_name");
    return { id, name: readText(app, "name") || identifier };
  });
  const isKnown = value === "" || known.some(({ id }) => id === value);
  const all = [
    { id: "", name: "None" },
    ...known,
    ...(isKnown ? [] : [{ id: value, name: value }]),
  ];
  return all.map(({ id, name }) => {
    const selected = id === value ? html` selected` : "";
    return html`<option value="${id}" ${selected}>${name}</option>`;
  });
}
