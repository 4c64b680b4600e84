import { normalizeId, uuidPattern } from "../../contract/fields.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { bringsNewApp } from "../../contract/rules/app-rules.ts";
import { pickNamed } from "../../contract/rules/named-resource.ts";
import { isBlank } from "../../contract/text.ts";
import { quote } from "../../text/show-hidden.ts";
import { writeNamedApp } from "../../text/unregistered-app.ts";
import {
  explainUnregistered,
  listAppChoices,
  type AppChoice,
  type KnownApps,
} from "./known-apps.ts";

/** The apps that a person's words mean: a name stands where the API takes an id or a bundle id. */

type Chosen = { readonly fields: LinkFields; readonly problems: readonly FieldProblem[] };

/** An app that nothing fits is taken out, for what is wrong with it has been told. */
export function chooseApps(given: LinkFields, known: KnownApps, takesAnyId: boolean): Chosen {
  const problems: FieldProblem[] = [];
  let fields = given;
  for (const app of listAppChoices(given, known)) {
    const { member } = app;
    const choice = chooseApp(app, takesAnyId);
    if (choice === undefined) continue;
    const { [member]: _given, ...others } = fields;
    if ("id" in choice) fields = { ...others, [member]: { id: choice.id } };
    else {
      fields = others;
      problems.push({ field: member, message: choice.message });
    }
  }
  return { fields, problems };
}

/** Undefined where the choice stands as it is. */
function chooseApp(
  app: AppChoice,
  takesAnyId: boolean,
): { readonly id: string } | { readonly message: string } | undefined {
  const { kind, choice, name, known } = app;
  if (!choice || known === undefined || bringsNewApp(choice)) return undefined;
  const { registered, idsByName } = known;
  const isById = !isBlank(choice.id);
  const text = (isById ? choice.id : name) ?? "";
  if (isBlank(text) || (isById ? uuidPattern.test(text) : idsByName.has(text))) return undefined;
  if (isById && registered.some(({ id }) => id === normalizeId(text))) return undefined;
  const found = pickNamed(registered, text, {
    unique: ({ identifier }) => readText(identifier),
    name: (each) => readText(each.name),
  });
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return { id: only.id };
  if (only !== undefined) {
    const all = found.map(writeNamedApp).toSorted();
    return { message: `More than one ${kind} is named ${quote(text)}: ${all.join(", ")}` };
  }
  if (isById ? takesAnyId : isIdentifier(app)) return undefined;
  return { message: explainUnregistered(app, text, registered) };
}

/** One of an app that is not registered is told of with the link that it is for. */
function isIdentifier({ member, check }: AppChoice): boolean {
  const key = member === "ios_app" ? "bundle_id" : "package_name";
  return !check().problems.some(({ field }) => field === key);
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
