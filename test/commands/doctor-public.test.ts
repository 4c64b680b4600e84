import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sendEmbedded } from "../../src/client/send-once.ts";
import { createClient } from "../../src/client/client.ts";
import { noteDomains } from "../../src/commands/doctor.ts";
import type { Finding } from "../../src/app/process/findings.ts";
import type { KnownKey } from "../../src/contract/access.ts";
import { neverAborted } from "../../src/contract/waiting.ts";
import { createFolder, run, runJson, startServe } from "../support/command.ts";
import { noPublicFiles } from "../support/assistant-world.ts";
import { ownerFacts } from "../support/stage.ts";
import { openPublicHost, publicName } from "../support/public-host.ts";
import { createWorld, type World } from "../support/world.ts";

/** `waypost doctor --public`: whether phones can reach the link hosts. */

test("doctor --public reports a host that is reachable only from this machine", async () => {
  await using folder = await createFolder();
  await runJson(["keys", "create", "--data", folder.path]);
  const { code, stdout } = await run(["doctor", "--public", "--data", folder.path]);
  expect(code).toBe(1);
  const line = /^FAULT domain +default\.localhost:8787: .*works only on this machine.*\.$/m;
  expect(stdout).toMatch(line);
  expect((await run(["doctor", "--data", folder.path])).code).toBe(0);
});

test("doctor --public warns about an incomplete association file", async () => {
  await using folder = await createFolder();
  await using server = await startServe(folder.path);
  const body = { android_app: { package_name: "com.example.a", fingerprints: ["AA:BB"] } };
  expect((await server.call("POST", "/android_apps", { body })).status).toBe(201);
  const { stdout } = await run(["doctor", "--public", "--data", folder.path]);
  expect(stdout).toMatch(
    /^WARN  domain +default\.localhost:\d+: The association file leaves out "com\.example\.a"/m,
  );
  expect(stdout).toMatch(/^ok    domain +default\.localhost:\d+: The project has no app/m);
});

test("doctor --public warns that it cannot check link hosts without the owner's key", async () => {
  await using folder = await createFolder();
  await runJson(["keys", "create", "--data", folder.path]);
  await rm(join(folder.path, "owner.key"), { force: true });
  const { stdout } = await run(["doctor", "--public", "--data", folder.path]);
  expect(stdout).toMatch(/^FAULT key +no key was found; create a key with /m);
  expect(stdout).toMatch(/^WARN +domain +the link hosts were not checked, because that needs/m);
});

const remote: KnownKey = {
  facts: undefined,
  linkHost: undefined,
  hasSecondHost: false,
  linkInReferrer: false,
};

async function list(
  world: World,
  key: string,
  known: KnownKey,
  fetchFile = noPublicFiles.fetchFile,
) {
  const { call } = createClient({
    target: { origin: "http://waypost.invalid", key },
    send: sendEmbedded(world.answer),
    clock: world.clock,
    random: { bytes: (count) => new Uint8Array(count) },
    sleep: () => Promise.resolve(),
    setAlarm: world.setAlarm,
  });
  const lines: Finding[] = [];
  const look = { call, known, mayRead: () => true, signal: neverAborted };
  const now = world.now();
  await noteDomains({ ...look, fetchFile, now }, (line) => lines.push(line));
  return lines.map(({ about, fault, warning, info }) => {
    return [about, fault ?? warning ?? info, fault !== undefined];
  });
}

test("doctor --public limits its checks of a remote server to what the key can read", async () => {
  await using world = await createWorld();
  await using host = await openPublicHost({ world });
  const ios_app = { bundle_id: "com.example.one", team_id: "ABCDE12345" };
  await world.call("POST", "/ios_apps", { body: { ios_app } });
  await world.call("POST", "/links", { body: { path: "web", url: "https://example.com" } });
  const apple = "app-site-association.cdn-apple.com";
  host.others.set(apple, { kind: "timed_out" });
  // A project's key cannot read the link host.
  expect(await list(world, world.key, remote)).toEqual([
    ["domain", expect.stringContaining("WAYPOST_LINK_ORIGIN"), true],
  ]);
  // The operator sets the host. Its file is compared with the apps, not byte by byte.
  const linkHost = `https://${publicName}`;
  const unknown = ["domain", expect.stringContaining("could not be read"), false];
  expect(await list(world, world.key, { ...remote, linkHost }, host.fetchFile)).toEqual([unknown]);
  // A master key can read verified domains but no apps.
  const lines = await list(world, world.master, remote, host.fetchFile);
  expect(lines.every(([, , isFault]) => isFault === false)).toBe(true);
  expect(lines.map(([, text]) => String(text)).join("\n")).toContain(
    `${publicName}: This key cannot`,
  );
});

test("doctor --public prints results for each host of a project", async () => {
  await using world = await createWorld();
  await using host = await openPublicHost({ world });
  const others = [`https://${publicName}`, "https://second.example"] as const;
  const known = { ...remote, facts: ownerFacts, linkHost: others[0], otherLinkHosts: others };
  expect(await list(world, world.key, known, host.fetchFile)).toEqual([
    ["domain", expect.stringContaining(`${publicName}: The project has no app`), false],
    [
      "domain",
      expect.stringContaining('"second.example" does not resolve to a public address'),
      true,
    ],
    ["domain", expect.stringContaining("second.example: The project has no app"), false],
  ]);
});
