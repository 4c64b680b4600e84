import { expect } from "vitest";
import * as z from "zod";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { listEndpoints } from "../../../src/contract/index.ts";
import { isJsonObject } from "../../../src/contract/json.ts";
import { pickShare } from "../pick-share.ts";
import type { RawReply } from "./deployment.ts";
import type { Stand, Wanted } from "./judge.ts";

/**
 * Each field of a reply in turn, and all that it may be instead of what it should be: ids and lists
 * become each of it, the other fields some of it each, and all of it together.
 */

type Place = readonly (string | number)[];
type Mutation = readonly [name: string, json: string];

/** What a field becomes, as JSON; an empty text stands for nothing. */
const mutations: readonly Mutation[] = [
  ["absent", ""],
  ["null", "null"],
  ["true", "true"],
  ["a boolean as text", '"false"'],
  ["a number", "7"],
  ["a number as text", '"7"'],
  ["a fraction", "1.5"],
  ["an empty text", '""'],
  ["a text that nobody can see", JSON.stringify("\u0007\u202e<b>")],
  ["an enormous text", JSON.stringify("x".repeat(100_000))],
  ["a list", '["x"]'],
  ["an object", '{"id":"x","name":["y"]}'],
  ["something deep", "[".repeat(9000) + "]".repeat(9000)],
];
/** Stands for it until the rest is JSON: what is deep cannot be written by the usual way. */
const marker = "here-it-comes";

/** Members that nobody asked for, beside those that are there. */
const extras: readonly string[] = [
  '"x-more":{"url":["a",{"b":null}]}',
  '"__proto__":{"id":"x"},"constructor":null,"toString":1',
  `"deep":${"[".repeat(5000)}${"]".repeat(5000)}`,
];

/**
 * Those that answer with data, each with its tool's name. What is ours alone is asked of our own
 * service, which keeps to its own schemas, and of no deployment elsewhere.
 */
export function listAnswering(isRead: boolean): readonly (readonly [string, Endpoint])[] {
  return listEndpoints()
    .filter(({ response, type, ours }) => response !== null && type === undefined && ours !== true)
    .filter(({ effect }) => (effect === "read") === isRead)
    .map((endpoint) => [endpoint.tool, endpoint]);
}

export async function judgeFields(stand: Stand, endpoint: Endpoint): Promise<readonly string[]> {
  const faults: string[] = [];
  const places = listPlaces(await readHonest(stand, endpoint));
  // What the specification names of it, and its envelope.
  expect(places.length).toBeGreaterThan(2);
  const judge = async (changed: readonly Place[], [name, json]: Mutation) => {
    const alter = (reply: RawReply) => {
      const value = json === "" ? undefined : marker;
      const honest: unknown = JSON.parse(String(reply.body));
      const body = JSON.stringify(
        changed.reduce((rest, place) => replaceAt(rest, place, value), honest),
      );
      return { ...reply, body: body.replaceAll(`"${marker}"`, () => json) };
    };
    const [place = []] = changed;
    const found = await stand.judge(endpoint, { alter }, foresee(endpoint, place, json));
    const what = changed.length === 1 ? place.join(".") : "every field";
    faults.push(...found.map((fault) => `${what} is ${name}: ${fault}`));
  };
  const isNeeded = (place: Place) => ["id", findListName(endpoint)].includes(String(place.at(-1)));
  for (const [at, place] of places.entries()) {
    const some = isNeeded(place) ? mutations : pickShare(mutations, at, places.length);
    for (const mutation of some) await judge([place], mutation);
  }
  const innermost = places.filter(
    (place) => !isNeeded(place) && !places.some((other) => isInside(other, place)),
  );
  for (const mutation of mutations) await judge(innermost, mutation);
  for (const extra of extras) {
    // Into every object of the reply.
    const alter = (reply: RawReply) => {
      const body = String(reply.body).replaceAll(/\{(?=")/g, () => `{${extra},`);
      return { ...reply, body };
    };
    const found = await stand.judge(endpoint, { alter }, foresee(endpoint, ["x-more"], ""));
    faults.push(...found.map((fault) => `with ${extra.slice(0, 40)}: ${fault}`));
  }
  return faults;
}

function isInside(inner: Place, outer: Place): boolean {
  return inner.length > outer.length && outer.every((name, at) => name === inner[at]);
}

/** The reply when nothing is wrong with it, which proves the scene as well. */
async function readHonest(stand: Stand, endpoint: Endpoint): Promise<unknown> {
  let body = "";
  const alter = (reply: RawReply) => {
    body = String(reply.body);
    return reply;
  };
  expect(await stand.judge(endpoint, { alter }, { isFine: true })).toEqual([]);
  return JSON.parse(body);
}

/** Every member of every object, in a list of the first of its items. */
function listPlaces(body: unknown): readonly Place[] {
  if (Array.isArray(body)) return body.length === 0 ? [] : [[0], ...inside(body, 0)];
  if (!isJsonObject(body)) return [];
  return Object.keys(body).flatMap((name) => [[name], ...inside(body, name)]);
}

function inside(body: unknown, name: string | number): readonly Place[] {
  const inner = (body as Readonly<Record<string | number, unknown>>)[name];
  return listPlaces(inner).map((place) => [name, ...place]);
}

/** Left out where there is no value: a list loses the item. */
function replaceAt(body: unknown, [name = 0, ...rest]: Place, value: unknown): unknown {
  if (Array.isArray(body)) {
    return body.flatMap((item, at) => {
      if (at !== name) return [item];
      if (rest.length > 0) return [replaceAt(item, rest, value)];
      return value === undefined ? [] : [value];
    });
  }
  const members = body as Readonly<Record<string, unknown>>;
  const inner = rest.length === 0 ? value : replaceAt(members[name], rest, value);
  return { ...members, [name]: inner };
}

/** What the mutated reply is worth, from what is promised and not from how it is read. */
function foresee(endpoint: Endpoint, place: Place, json: string): Wanted {
  if (endpoint.effect !== "read") return { isFine: true, isSeen: true };
  const value: unknown = json === "" ? undefined : JSON.parse(json);
  const [first, ...rest] = place;
  const isWhole = rest.length === 0;
  if (isWhole && first === findListName(endpoint)) {
    // It may hold whatever it likes, but a list it must be.
    return Array.isArray(value) ? { isFine: true } : { codes: ["bad_response"] };
  }
  // A row that cannot be read is not the end of its list, and what `meta` lacks the page shows.
  if (first !== "id" || !isWhole) return { isFine: true };
  const isId = (typeof value === "string" && value !== "") || Number.isSafeInteger(value);
  // Whoever asked for one id may refuse to be told of another.
  return { isFine: isId, codes: ["bad_response"] };
}

function findListName({ list, response }: Endpoint): string | undefined {
  if (list !== undefined) return list.name;
  const isRecord = response instanceof z.ZodObject && "id" in response.shape;
  return !isRecord && response instanceof z.ZodObject ? Object.keys(response.shape)[0] : undefined;
}
