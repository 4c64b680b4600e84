import { describe, expect, test } from "vitest";
import type { AnswerApi } from "../../src/contract/api-message.ts";
import { updateProject } from "../../src/store/projects.ts";
import { agents } from "../attribution/agents.ts";
import { readAnswer } from "../sdk/readers.ts";
import { iosOpened } from "../sdk/recorded.ts";
import { homeIp, openInstallWorld, startFirst, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests matching installs to visits from other IP addresses and from shared addresses. */

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

const visit: InstallWorld["visitPage"] = (...given) => host.visitPage(...given);
const install: InstallWorld["install"] = (...given) => host.install(...given);
const match: InstallWorld["match"] = (...given) => host.match(...given);
const rows = () => host.listRows();

describe("an install on the visitor's phone", () => {
  const someIpv6 = "2a00:1450:4001:82a::200e";

  test.each([
    ["the visit came over IPv4 and the install over IPv6", homeIp, someIpv6],
    ["the visit came over IPv6 and the install over IPv4", someIpv6, homeIp],
    ["the install's IPv6 network is adjacent to the visit's", someIpv6, "2a00:1450:4001:82b::200e"],
    ["the install comes from a shared IP address", homeIp, "172.226.3.4"],
    ["the visit came from a shared IP address", "172.226.3.4", homeIp],
    ["both IP addresses are in the same shared range", "172.226.3.4", "172.226.3.5"],
    ["both IP addresses are in the same shared IPv6 range", "2a02:26f7:1::1", "2a02:26f7:1:1::1"],
  ])("is not matched when %s", async (_, visitor, other) => {
    await visit("/spring?ref=anna", { from: visitor });
    expect(await match(other)).toMatchObject({ matched: false });
    expect(await match(visitor)).toMatchObject({ matched: true });
  });

  test("is not matched when a proxy hides the visitor's IP address", async () => {
    await visit("/spring", { from: "172.226.3.4" });
    const { address: _, ...row } = (await rows())[0] ?? {};
    const hidden = { ...row, address: null };
    await host.world.store.write((db) => db.updateTable("deferred_visits").set(hidden).execute());
    expect(await match("203.0.113.77, 10.0.0.1")).toMatchObject({ matched: false });
  });
});

describe("the limit for unmatched installs from a shared IP address", () => {
  const relay = "172.226.3.4";
  const guess = async (by?: AnswerApi) => {
    phones += 1;
    return (await install(relay, startFirst(phones), by)).status;
  };
  let phones = 1000;

  async function missAll(by: readonly (AnswerApi | undefined)[], count = 20): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) expect(await guess(by[turn % by.length])).toBe(200);
  }

  test("is 20 per hour, after which install requests return 429", async () => {
    await missAll([undefined], 10);
    host.world.advance(60_000);
    await missAll([undefined], 10);
    await visit("/spring", { from: relay });
    expect(await guess()).toBe(429);
    expect(await match("172.226.3.5")).toMatchObject({ matched: false });
    host.world.advance(59 * 60_000);
    await visit("/spring", { from: relay });
    expect(await match(relay)).toMatchObject({ matched: true });
  });

  test("allows only 20 of 40 concurrent installs", async () => {
    const statuses = await Promise.all(Array.from({ length: 40 }, () => guess()));
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  });

  test("applies across all processes that share a database, even after a restart", async () => {
    const processes = [host.world.answer, host.startAnother()];
    await missAll(processes);
    const more = [];
    for (const by of [...processes, host.startAnother()]) {
      more.push(await guess(by), await guess(by));
    }
    // A process may accept one more install before it reads the counts of other processes.
    expect(more.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
    for (const by of processes) expect(await guess(by)).toBe(429);
  });

  test("does not count matched installs or repeated requests", async () => {
    for (let turn = 0; turn < 25; turn += 1) {
      await visit("/spring", { from: relay });
      expect(await guess()).toBe(200);
    }
    const statuses = [];
    await visit("/spring", { from: relay });
    for (let turn = 0; turn < 25; turn += 1) {
      statuses.push((await install(relay, startFirst(7))).status);
      if (turn % 12 === 11) host.world.advance(60_000);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test("does not apply to an IP address that is not shared", async () => {
    for (let turn = 0; turn < 50; turn += 1) {
      expect(await match()).toMatchObject({ matched: false });
    }
  });
});

test("an install is not matched to a link whose deferred linking has been turned off", async () => {
  const { store, project, call, now } = host.world;
  await store.write((db) => updateProject(db, project.id, { clipboard: true }, now()));
  const set = (ios_deferred_deep_linking_enabled: boolean) =>
    call("PATCH", `/links/${host.link.id}`, { body: { ios_deferred_deep_linking_enabled } });
  const { page } = await visit("/spring");
  const [, copied = ""] = /writeText\("([^"]*)"\)/.exec(page.text) ?? [];
  const counted = async () => (await call("GET", "/link_stats?by=day")).body.stats.total.installs;
  await set(false);
  expect(await match()).toMatchObject({ matched: false });
  // Opening a pasted address counts as an open, not an install.
  expect((await install(homeIp, iosOpened(copied))).status).toBe(200);
  expect(await counted()).toBe(0);
  await set(true);
  const isMatched = async () => readAnswer("ios", await install()).matched;
  expect(await isMatched()).toBe(true);
  await set(false);
  expect(await isMatched()).toBe(false);
  await set(true);
  expect([await isMatched(), await counted()]).toEqual([true, 1]);
});

test("at most 2,000 characters of a visit's query and 512 of its user agent are read", async () => {
  const [known, long] = [`ref=anna&a=${"1".repeat(1980)}`, "b".repeat(2100)];
  await visit(`/spring?${known}&c=${long}`);
  await visit(`/spring?d=${long}`);
  expect((await rows()).map(({ query }) => query).toSorted()).toEqual(["", known]);
  const agent = `${agents.safari26.split(" AppleWebKit")[0]} ${"x".repeat(512)} Version/26.1`;
  await visit("/spring?agent=long", { agent });
  const row = (await rows()).find(({ query }) => query === "agent=long");
  expect(Object.keys(JSON.parse(row?.marks ?? "{}"))).not.toContain("major");
});
