import { afterEach, describe, expect, test } from "vitest";
import { listUnread } from "../../src/contract/endpoint.ts";
import { contract } from "../../src/contract/index.ts";
import type { Fault } from "../support/hostile.ts";
import { pickShare } from "./pick-share.ts";
import { createClientWithFaults, type ClientWithFaults } from "./clients.ts";
import { openForEach } from "../support/open-for.ts";

/** Each row of the retry table with a server that stalls: an unsafe write runs only once. */

const { links, shortLinks, iosApps, androidApps, projects } = contract;

const unclearFaults = ["stall", "reset", "close", "noise", "busy", "failing", "html_502"] as const;
/** Faults that lose the response of an accepted write. */
const lostResponses = [
  "cut_length",
  "cut_chunked",
  "half_json",
  "other_json",
  "stall_body",
] as const;

let at: ClientWithFaults;
let ids: Readonly<Record<"link" | "ios_app" | "android_app" | DeletedName, string>>;

/** The names of records that were deleted before the call. */
type DeletedName = "deleted_link" | "deleted_ios_app" | "deleted_android_app";

openForEach(createClientWithFaults, async (opened) => {
  at = opened;
  const make = async (path: string, body: object): Promise<string> =>
    (await at.world.make(path, body)).id;
  const remove = async (path: string, body: object): Promise<string> => {
    const id = await make(path, body);
    expect((await at.world.call("DELETE", `${path}/${id}`)).status).toBe(204);
    return id;
  };
  ids = {
    link: await make("/links", { path: "winter", name: "Winter" }),
    ios_app: await make("/ios_apps", { ios_app: { bundle_id: "a.b", team_id: "TEAM000001" } }),
    android_app: await make("/android_apps", {
      android_app: { package_name: "a.b", fingerprints: ["AA:BB"] },
    }),
    deleted_link: await remove("/links", { path: "autumn" }),
    deleted_ios_app: await remove("/ios_apps", {
      ios_app: { bundle_id: "e.f", team_id: "TEAM000001" },
    }),
    deleted_android_app: await remove("/android_apps", {
      android_app: { package_name: "e.f", fingerprints: ["AA:BB"] },
    }),
  };
});

type Row = readonly [name: string, act: () => Promise<unknown>, done: object | null];

/** Tests the first row with every fault, and each other row with some of the faults. */
function selectFaults(rows: readonly Row[]) {
  return rows.map(([name, act, done], at) => ({
    name,
    act,
    done,
    pick: <Failure>(failures: readonly Failure[]) =>
      at === 0 ? failures : pickShare(failures, at, rows.length),
  }));
}

const repeated: readonly Row[] = [
  [
    "upsert_link with an existing path",
    () => at.client.call(links.upsert, { path: "winter", name: "Snow" }),
    { path: "winter", name: "Snow" },
  ],
  [
    "upsert_link with a new path",
    () => at.client.call(links.upsert, { path: "spring", name: "Spring" }),
    { path: "spring", name: "Spring" },
  ],
  [
    "update_link",
    () => at.client.call(links.update, { id: ids.link, name: null, path: "/thaw" }),
    { name: null, path: "thaw" },
  ],
  [
    "update_ios_app",
    () => at.client.call(iosApps.update, { id: ids.ios_app, app_store_id: "id 12" }),
    { app_store_id: "12" },
  ],
  [
    "update_android_app",
    () => at.client.call(androidApps.update, { id: ids.android_app, fingerprints: ["cc:dd"] }),
    { fingerprints: ["CC:DD"] },
  ],
  ["delete_link", () => at.client.call(links.destroy, { id: ids.link }), null],
  ["delete_ios_app", () => at.client.call(iosApps.destroy, { id: ids.ios_app }), null],
  ["delete_android_app", () => at.client.call(androidApps.destroy, { id: ids.android_app }), null],
  [
    "restore_link",
    () => at.client.call(links.restore, { id: ids.deleted_link }),
    { path: "autumn" },
  ],
  [
    "restore_ios_app",
    () => at.client.call(iosApps.restore, { id: ids.deleted_ios_app }),
    { bundle_id: "e.f" },
  ],
  [
    "restore_android_app",
    () => at.client.call(androidApps.restore, { id: ids.deleted_android_app }),
    { package_name: "e.f" },
  ],
];

const neverRepeated: readonly Row[] = [
  [
    "create_link",
    () => at.client.call(links.create, { path: "spring", name: "Spring" }),
    { path: "spring", name: "Spring" },
  ],
  [
    "upsert_link with options.shorten",
    () => at.client.call(links.upsert, { path: "spring", options: { shorten: true } }),
    { path: "spring", shortened_path: expect.any(String) },
  ],
  [
    "register_ios_app",
    () => at.client.call(iosApps.create, { bundle_id: "c.d", team_id: "TEAM000001" }),
    { bundle_id: "c.d", team_id: "TEAM000001" },
  ],
  [
    "register_android_app",
    () => at.client.call(androidApps.create, { package_name: "c.d", fingerprints: ["aa:bb"] }),
    { package_name: "c.d", fingerprints: ["AA:BB"] },
  ],
];

/** A lookup proves nothing, because another client may have shortened the same address. */
const notLookedUp: readonly Row[] = [
  [
    "shorten_link",
    () => at.client.call(shortLinks.create, { url: "https://example.com/1", prefix: "s-" }),
    { url: "https://example.com/1", shortened_path: expect.stringMatching(/^s-/) },
  ],
];

describe.each(selectFaults(repeated))("the repeated $name", ({ act, done, pick }) => {
  test.each(pick(unclearFaults))(
    'is retried after "%s", whether or not the first try took effect',
    async (misdeed) => {
      await passThrough([misdeed, `${misdeed} after`], { act, done });
      expect(countWrites()).toBe(3);
      expect(countCarriedOut()).toBe(2);
    },
  );

  test.each(pick(lostResponses))(
    'is verified by a lookup instead of a retry after "%s"',
    async (misdeed) => {
      await passThrough([`${misdeed} after`], { act, done });
      expect(countCarriedOut()).toBe(1);
      expect(countWrites()).toBe(1);
    },
  );

  test("is not retried after a 200, even if a lookup does not show the change", async () => {
    at.hostile.plan({ writes: ["html_200"] });
    await act();
    expect(countWrites()).toBe(1);
  });

  test("is reported as successful if a lookup shows the change after the last try", async () => {
    await passThrough(["reset after", "reset", "reset", "reset"], { act, done });
    expect(countWrites()).toBe(4);
  });

  test("reports an unknown effect if a lookup does not show the change", async () => {
    at.hostile.plan({ writes: Array(4).fill("reset") });
    await expect(act()).rejects.toMatchObject({
      code: "outcome_unknown",
      message: expect.stringMatching(
        /was lost \(ECONNRESET\)\. Checked: the .+ (exist|exists|yet|differ|now has .+)\.$/,
      ),
      facts: { effect: "unknown", retry: "later" },
    });
    expect(countCarriedOut()).toBe(0);
  });
});

const unrepeated = [...neverRepeated, ...notLookedUp];

describe.each(selectFaults(unrepeated))("the unrepeated $name", ({ act, done, pick }) => {
  test.each(pick(lostResponses))(
    'is reported as successful after "%s" without a second request',
    async (misdeed) => {
      at.hostile.plan({ writes: [misdeed] });
      expect(listUnread((await act()) as object)).toEqual([
        { message: expect.stringContaining("its response could not be read") },
      ]);
      expect(countWrites()).toBe(1);
    },
  );

  test.each(pick([...unclearFaults, "redirect"] as const))(
    'is never retried after "%s"',
    async (misdeed) => {
      at.hostile.plan({ writes: [misdeed] });
      await expect(act()).rejects.toMatchObject({
        facts: { effect: "unknown", retry: "never" },
        code: misdeed === "redirect" ? "bad_response" : "outcome_unknown",
      });
      expect(countCarriedOut()).toBe(0);
      expect(countWrites()).toBe(1);
      expect(at.hostile.strayed).toEqual([]);
    },
  );

  test("is retried after a 429", async () => {
    await passThrough(["limited", "limited"], { act, done });
    expect(countCarriedOut()).toBe(1);
    expect(countWrites()).toBe(3);
  });
});

describe.each(selectFaults(neverRepeated))("the verified $name", ({ act, done, pick }) => {
  test.each(pick([...unclearFaults, ...lostResponses]))(
    'is verified by a lookup after "%s" if the write took effect',
    async (misdeed) => {
      await passThrough([`${misdeed} after`], { act, done });
      expect(countCarriedOut()).toBe(1);
      expect(countWrites()).toBe(1);
    },
  );

  test("is verified by a lookup if the server finishes the write after the timeout", async () => {
    await passThrough(["late"], { act, done });
    expect(countWrites()).toBe(1);
  });

  test("reports that the lookup failed if the key has no read permission", async () => {
    at.hostile.plan({ writes: ["reset after"], reads: ["echo_401"] });
    await expect(act()).rejects.toMatchObject({
      code: "outcome_unknown",
      message: expect.stringMatching(
        /nothing, because the check failed \(.* answered: "Who are you, .*"\)/,
      ),
      facts: { effect: "unknown", retry: "never" },
    });
    expect(countWrites()).toBe(1);
  });
});

describe("a call with the master key", () => {
  let id: string;
  openForEach(
    () => createClientWithFaults({ isMaster: true }),
    async (opened) => {
      at = opened;
      const body = { project: { name: "Second", subdomain: "second" } };
      const created = await at.world.call("POST", "/projects", { key: at.world.master, body });
      ({ id } = created.body);
    },
  );
  afterEach(() => expect(countWrites()).toBe(1));

  const destroy = () => at.client.call(projects.destroy, { id });
  const update = () => at.client.call(projects.update, { id, custom_domain: "A.EXAMPLE" });

  test("delete_project is never retried", async () => {
    await failFor(destroy, `Checked: the project ${id} still exists.`);
  });

  test("delete_project is reported as successful if a lookup shows the deletion", async () => {
    await passThrough(["reset after"], { act: destroy, done: null });
  });

  test("update_project is verified by a lookup", async () => {
    await passThrough(["cut_length after"], { act: update, done: { custom_domain: "a.example" } });
  });

  test("create_project is neither retried nor looked up", async () => {
    await failFor(
      () => at.client.call(projects.create, { name: "Third", subdomain: "third" }),
      "Checked: nothing, because it cannot be looked up.",
    );
  });
});

async function failFor(act: Row[1], reason: string): Promise<void> {
  at.hostile.plan({ writes: ["reset"] });
  await expect(act()).rejects.toMatchObject({
    code: "outcome_unknown",
    message: expect.stringContaining(reason),
    facts: { effect: "unknown", retry: "never" },
  });
}

async function passThrough(
  writes: readonly Fault[],
  { act, done }: { readonly act: Row[1]; readonly done: Row[2] },
): Promise<void> {
  at.hostile.plan({ writes });
  const result = await act();
  if (done === null) expect(result).toBeNull();
  else expect(result).toMatchObject(done);
  await at.hostile.settle();
}

function countWrites(): number {
  return at.hostile.received.filter((line) => !line.startsWith("GET")).length;
}

function countCarriedOut(): number {
  return at.hostile.carriedOut.filter((line) => !line.startsWith("GET")).length;
}
