import * as z from "zod";
import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { openStand, type Judge, type ExpectedOutcome } from "./judge.ts";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { listEndpoints } from "../../../src/contract/index.ts";
import { isJsonObject } from "../../../src/contract/json.ts";
import { pickShare } from "../pick-share.ts";
import type { RawReply } from "../../support/hostile.ts";

/** A read needs a valid envelope and ids. An accepted write is done, whatever the response. */

type Place = readonly (string | number)[];
type Mutation = readonly [name: string, json: string];

/** The new value as JSON; an empty text removes the field. */
const mutations: readonly Mutation[] = [
  ["absent", ""],
  ["null", "null"],
  ["true", "true"],
  ["a boolean as text", '"false"'],
  ["a number", "7"],
  ["a number as text", '"7"'],
  ["a fraction", "1.5"],
  ["an empty text", '""'],
  ["an invisible text", JSON.stringify("\u0007\u202e<b>")],
  ["an enormous text", JSON.stringify("x".repeat(100_000))],
  ["a list", '["x"]'],
  ["an object", '{"id":"x","name":["y"]}'],
  ["deep nesting", "[".repeat(9000) + "]".repeat(9000)],
];
/** A placeholder for deeply nested values, which JSON.stringify cannot write. */
const marker = "here-it-comes";

const extras: readonly string[] = [
  '"x-more":{"url":["a",{"b":null}]}',
  '"__proto__":{"id":"x"},"constructor":null,"toString":1',
  `"deep":${"[".repeat(5000)}${"]".repeat(5000)}`,
];

/** Endpoints with data, by tool name, without those that only Waypost has. */
function listAnswering(): readonly (readonly [string, Endpoint])[] {
  return listEndpoints()
    .filter(({ response, type, ours }) => response !== null && type === undefined && ours !== true)
    .map((endpoint) => [endpoint.tool, endpoint]);
}

async function judgeFields(stand: Judge, endpoint: Endpoint): Promise<readonly string[]> {
  const faults: string[] = [];
  const places = listPlaces(await readHonest(stand, endpoint));
  // The response must have at least the envelope and the fields of the specification.
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
    const found = await stand.judge(endpoint, { alter }, predictOutcome(endpoint, place, json));
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
    // Insert the field into every object of the response.
    const alter = (reply: RawReply) => {
      const body = String(reply.body).replaceAll(/\{(?=")/g, () => `{${extra},`);
      return { ...reply, body };
    };
    const found = await stand.judge(endpoint, { alter }, predictOutcome(endpoint, ["x-more"], ""));
    faults.push(...found.map((fault) => `with ${extra.slice(0, 40)}: ${fault}`));
  }
  return faults;
}

function isInside(inner: Place, outer: Place): boolean {
  return inner.length > outer.length && outer.every((name, at) => name === inner[at]);
}

/** Reads the unchanged response, which also proves that the test call is valid. */
async function readHonest(stand: Judge, endpoint: Endpoint): Promise<unknown> {
  let body = "";
  const alter = (reply: RawReply) => {
    body = String(reply.body);
    return reply;
  };
  expect(await stand.judge(endpoint, { alter }, { isFine: true })).toEqual([]);
  return JSON.parse(body);
}

function listPlaces(body: unknown): readonly Place[] {
  if (Array.isArray(body)) return body.length === 0 ? [] : [[0], ...inside(body, 0)];
  if (!isJsonObject(body)) return [];
  return Object.keys(body).flatMap((name) => [[name], ...inside(body, name)]);
}

function inside(body: unknown, name: string | number): readonly Place[] {
  const inner = (body as Readonly<Record<string | number, unknown>>)[name];
  return listPlaces(inner).map((place) => [name, ...place]);
}

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

function predictOutcome(endpoint: Endpoint, place: Place, json: string): ExpectedOutcome {
  if (endpoint.effect !== "read") return { isFine: true, isSeen: true };
  const value: unknown = json === "" ? undefined : JSON.parse(json);
  const [first, ...rest] = place;
  const isWhole = rest.length === 0;
  if (isWhole && first === findListName(endpoint)) {
    // A list may contain anything, but the field must be a list.
    return Array.isArray(value) ? { isFine: true } : { codes: ["bad_response"] };
  }
  // An unreadable row does not invalidate its list, and missing `meta` comes from the page.
  if (first !== "id" || !isWhole) return { isFine: true };
  const isId = (typeof value === "string" && value !== "") || Number.isSafeInteger(value);
  // A request for an ID may reject a response with a different ID.
  return { isFine: isId, codes: ["bad_response"] };
}

function findListName({ list, response }: Endpoint): string | undefined {
  if (list !== undefined) return list.name;
  const isRecord = response instanceof z.ZodObject && "id" in response.shape;
  return !isRecord && response instanceof z.ZodObject ? Object.keys(response.shape)[0] : undefined;
}

let stand: Judge;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering())(
  "%s reports its true effect for any fields in the response",
  async (_, endpoint) => {
    expect(await judgeFields(stand, endpoint)).toEqual([]);
  },
);
