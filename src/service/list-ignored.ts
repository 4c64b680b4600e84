import * as z from "zod";
import type { Endpoint } from "../contract/endpoint.ts";
import { fieldMeanings } from "../contract/field-meanings.ts";
import { isJsonObject } from "../contract/json.ts";
import { toSentence, Problem } from "../contract/problem.ts";
import { unwrap } from "../contract/unwrap-schema.ts";
import { suggestNames } from "../text/nearest-name.ts";
import { quote } from "../text/show-hidden.ts";
import type { SentFields } from "./unwrap-fields.ts";

/** More are of no use to a person, and a body may have a hundred thousand. */
const mostNamed = 20;

/** A member that no field has the name of, and where the fields are that may have been meant. */
type Stray = {
  readonly name: string;
  /** Where it was sent, as what stands before its name; and where the fields belong. */
  readonly place: string;
  readonly home: string;
  readonly known: readonly string[];
};

/**
 * What was sent and says nothing here. Beside known fields it is only named: a record that was read
 * is often written back whole. A body that says nothing else was meant to say something, so it is
 * refused rather than carried out without effect.
 */
export function listIgnored(sent: SentFields, endpoint: Endpoint): readonly string[] {
  const { fields, wrapper = "", beside } = sent;
  const known = Object.keys(endpoint.body?.shape ?? {});
  const answered = new Set(listResponseFields(endpoint));
  const strays = [
    ...listStrays(endpoint.body, fields, ""),
    ...beside.map((name) => ({ name, place: "", home: `${wrapper}.`, known })),
  ];
  const isAnswered = (stray: Stray) =>
    stray.place === "" && answered.has(stray.name) && !known.includes(stray.name);
  // What only a response has changes nothing of what is there, but nothing is made of it either.
  const isUnchanged = endpoint.method !== "POST" && strays.some(isAnswered);
  const isKnown = known.some((name) => Object.hasOwn(fields, name)) || isUnchanged;
  if (!isKnown && strays.length > 0) throw refuseStrays(strays, endpoint);
  return strays.slice(0, mostNamed).map((stray) => {
    const meant = isAnswered(stray) ? "" : suggest(stray);
    return showName(stray) + (meant === "" ? "" : ` (did you mean ${meant}?)`);
  });
}

/** The fields of what the endpoint answers; a page has none. */
export function listResponseFields({ response }: Endpoint): readonly string[] {
  return response instanceof z.ZodObject ? Object.keys(response.shape) : [];
}

function listStrays(
  schema: z.core.$ZodType | undefined,
  value: unknown,
  place: string,
): readonly Stray[] {
  const wanted = schema && unwrap(schema);
  if (!(wanted instanceof z.ZodObject) || !isJsonObject(value)) return [];
  const known = Object.keys(wanted.shape);
  return Object.entries(value).flatMap(([name, member]) =>
    Object.hasOwn(wanted.shape, name)
      ? listStrays(wanted.shape[name], member, `${place}${name}.`)
      : [{ name, place, home: place, known }],
  );
}

function refuseStrays(strays: readonly Stray[], { body, validation_key }: Endpoint): Problem {
  const told = strays.slice(0, mostNamed).map((stray) => ({ stray, meant: suggest(stray) }));
  const clauses = told.map(({ stray, meant }) => {
    return `${showName(stray)}: ${meant === "" ? "no such field" : `did you mean ${meant}?`}`;
  });
  const isGuessed = told.some(({ meant }) => meant !== "");
  const rest = isGuessed ? "" : `. The fields are ${Object.keys(body?.shape ?? {}).join(", ")}.`;
  return new Problem(422, toSentence(clauses) + rest, { key: validation_key ?? "error" });
}

function suggest({ name, home, known }: Stray): string {
  const names = suggestNames(name, known, fieldMeanings);
  return names.map((field) => home + field).join(" or ");
}

/** A name that a stranger chose, fit to be seen. */
function showName({ name, place }: Stray): string {
  return quote(place + name).slice(1, -1);
}
