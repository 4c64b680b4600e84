import type { JsonObject } from "../../contract/json.ts";
import { writeLabel } from "../../text/write-label.ts";
import type { Account } from "../account.ts";
import { readTyped, renderField, type Field } from "../form-fields.ts";
import { html, type Part } from "../html.ts";
import type { Form } from "../page.ts";
import { renderOption } from "../parts.ts";
import { appKinds, listAppChoices, nameOther, renderOther } from "./app-kinds.ts";
import { flagFields, textFields } from "./link-fields.ts";

/** The ways to change many links at once, as `plan_links` takes them. */

type Way = {
  readonly title: string;
  /** Their names begin with the name of the way: all ways are in one form. */
  readonly fields: readonly Field[];
  /** The arguments of the plan without those that select the links. */
  readonly plan: (read: (name: string) => string, form: Form) => JsonObject;
};

const otherFields = textFields.filter((name) => name !== "path" && name !== "url");

const ways: Readonly<Record<string, Way>> = {
  set: {
    title: "Set a field",
    fields: [
      // A path belongs to one link, so it cannot be set for many.
      chooseField("set", ["url", ...otherFields]),
      text("set-value", "New value", "Leave this empty to clear the field."),
    ],
    plan: (read) => ({ changes: { [read("field")]: read("value") } }),
  },
  choose: {
    title: "Choose an app, or turn an option on or off",
    fields: [],
    plan: (_, form) => ({ changes: readChoice(form) }),
  },
  replace: {
    title: "Replace part of a field",
    fields: [
      chooseField("replace", ["url", ...textFields.filter((name) => name !== "url")]),
      {
        name: "replace-match",
        label: "Replace",
        kind: "choice",
        choices: [
          { value: "text", name: "Every occurrence of a text" },
          { value: "host", name: "The host of a web address" },
        ],
      },
      text("replace-from", "Old text"),
      text("replace-to", "New text"),
    ],
    plan: (read) => {
      const match = read("match") === "host" ? "host" : "text";
      return { replace: [{ field: read("field"), from: read("from"), to: read("to"), match }] };
    },
  },
  query: {
    title: "Add a query parameter to web addresses",
    fields: [
      chooseField(
        "query",
        textFields.filter((name) => /(^|_)url$/.test(name)),
      ),
      text("query-name", "Parameter", "For example, utm_source."),
      text("query-value", "Value"),
    ],
    plan: (read) => ({
      add_query: { field: read("field"), values: { [read("name")]: read("value") } },
    }),
  },
  prefix: {
    title: "Add a prefix to paths",
    fields: [
      text("prefix-prefix", "Prefix", "For example, spring/. The old addresses stop working."),
    ],
    plan: (read) => ({ path_prefix: read("prefix") }),
  },
};

function chooseField(way: string, names: readonly string[]): Field {
  const choices = names.map((name) => ({ value: name, name: writeLabel(name) }));
  return { name: `${way}-field`, label: "Field", kind: "choice", choices };
}

function text(name: string, label: string, hint = ""): Field {
  return { name, label, kind: "text", hint };
}

export type ShownWay = { readonly name: string; readonly title: string; readonly fields: Part };

export async function listWays(account: Account, form: Form): Promise<readonly ShownWay[]> {
  const choice = await renderChoose(account, form);
  const changes = Object.entries(ways).map(([name, { title, fields }]) => {
    const values = readTyped(fields, form);
    const rendered = fields.map((field) => renderField(field, values));
    const pair = fields.length > 1 ? html`<div class="pair">${rendered}</div>` : rendered;
    return { name, title, fields: name === "choose" ? choice : pair };
  });
  const kept = html`<p>
    Deleted links stay in the bin for 30 days. You can restore them from there.
  </p>`;
  return [
    ...(account.mayUse("update_link") ? changes : []),
    ...(account.mayUse("delete_link")
      ? [{ name: "delete", title: "Delete them", fields: kept }]
      : []),
  ];
}

/** The arguments of the plan without those that select the links; undefined for an unknown way. */
export function planWay(name: string, form: Form): JsonObject | undefined {
  if (name === "delete") return { operation: "delete" };
  const way = Object.hasOwn(ways, name) ? ways[name] : undefined;
  if (way === undefined) return undefined;
  const typed = readTyped(way.fields, form);
  const read = (field: string) => typed[`${name}-${field}`] ?? "";
  return { operation: "update", ...way.plan(read, form) };
}

/** `ios_app:ID`, or `ios_app:` for none; `enable_forced_redirect:on`. */
function readChoice(form: Form): JsonObject {
  // A typed name takes precedence over the choice.
  const typed = appKinds.flatMap(({ name }) => {
    const id = form.read(nameOther(name)).trim();
    return id === "" ? [] : [[name, { id }] as const];
  });
  if (typed.length > 0) return Object.fromEntries(typed);
  const [, field = "", value = ""] = /^(\w+):([^]*)$/.exec(form.read("choice")) ?? [];
  if (flagFields.includes(field)) return { [field]: value === "on" };
  return { [field]: value === "" ? null : { id: value } };
}

async function renderChoose(account: Account, form: Form): Promise<Part> {
  const chosen = form.read("choice");
  const apps = await listAppChoices(account, {});
  const options = [
    ...apps.map(({ kind: { name }, choices }) => {
      const label = writeLabel(name);
      const all = [...choices, { value: "", name: "none" }];
      const named = all.map((app) =>
        renderOption(`${name}:${app.value}`, `${label}: ${app.name}`, chosen),
      );
      return html`<optgroup label="${label}">${named}</optgroup>`;
    }),
    ...flagFields.map((name) => {
      const states = ["on", "off"].map((state) =>
        renderOption(`${name}:${state}`, `${writeLabel(name)}: ${state}`, chosen),
      );
      return html`<optgroup label="${writeLabel(name)}">${states}</optgroup>`;
    }),
  ];
  return html`<div class="field">
      <label for="choice">New value</label>
      <select id="choice" name="choice">
        ${options}
      </select>
    </div>
    ${apps.map((each) => renderOther(each, form.read(nameOther(each.kind.name))))}`;
}
