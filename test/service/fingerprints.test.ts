import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the limit of fingerprints, and warnings about fingerprints that Android ignores. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const sha256 = Array.from({ length: 32 }, () => "AB").join(":");
const androidApp = { package_name: "com.example.app", fingerprints: ["AA:BB:0C"] };

test("an Android app can have at most 100 fingerprints", async () => {
  const body = { android_app: { ...androidApp, fingerprints: Array(100).fill(sha256) } };
  const made = await world.call("POST", "/android_apps", { body });
  expect([made.status, made.body.fingerprints]).toEqual([201, body.android_app.fingerprints]);
  body.android_app.fingerprints.push(sha256);
  const refused = await world.call("PATCH", `/android_apps/${made.body.id}`, { body });
  const error = "Fingerprints has too many entries (maximum is 100)";
  expect([refused.status, refused.body]).toEqual([422, { error }]);
});

const allIgnored =
  '299 waypost "Android will ignore all fingerprints and not open the app: ' +
  'it needs SHA-256 (32 pairs)."';
const oneIgnored =
  '299 waypost "Android will ignore 1 of 2 fingerprints: it needs SHA-256 (32 pairs)."';

async function send(method: string, path: string, body: object) {
  const reply = await world.call(method, path, { body });
  expect(reply.status, reply.text).toBeLessThan(300);
  return { warning: reply.headers.get("warning"), id: reply.body.id };
}

test("fingerprints that are not SHA-256 are accepted with a warning", async () => {
  const { warning, id } = await send("POST", "/android_apps", { android_app: androidApp });
  expect(warning).toBe(allIgnored);
  const change = async (android_app: object) =>
    (await send("PATCH", `/android_apps/${id}`, { android_app })).warning;
  expect(await change({ fingerprints: [sha256, "AA:BB"] })).toBe(oneIgnored);
  expect(await change({ name: "Example" })).toBeNull();
  expect(await change({ fingerprints: [sha256] })).toBeNull();
  expect(await change({ fingerprints: ["AA:BB"], colour: "red" })).toBe(
    `299 waypost "Ignored fields: colour.", ${allIgnored}`,
  );
});

test("writing a link causes a warning about fingerprints only if it creates the app", async () => {
  for (const warning of [allIgnored, null]) {
    const reply = await world.call("POST", "/links", { body: { android_app: androidApp } });
    expect([reply.status, reply.headers.get("warning")]).toEqual([201, warning]);
  }
});

test("a malformed Team ID is accepted with a warning", async () => {
  const warning =
    '299 waypost "The Team ID is not ten capital letters and digits, so iOS will not open ' +
    'the app."';
  const ios_app = { bundle_id: "a.b", team_id: "abcde12345" };
  const made = await send("POST", "/ios_apps", { ios_app });
  expect(made.warning).toBe(warning);
  const change = async (ios_app: object) =>
    (await send("PATCH", `/ios_apps/${made.id}`, { ios_app })).warning;
  expect(await change({ team_id: "ABCDE1234!" })).toBe(warning);
  expect(await change({ name: "Example" })).toBeNull();
  expect(await change({ team_id: "ABCDE12345" })).toBeNull();
});
