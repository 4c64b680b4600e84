import { describe, expect, test } from "vitest";
import { listMethods, type Endpoint } from "../../src/contract/endpoint.ts";
import { listEndpoints } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import {
  plans,
  roles,
  scopes,
  type PricingPlan,
  type Role,
  type Scope,
} from "../../src/contract/rights.ts";
import { createWorld, type CallInput, type Reply, type World } from "../support/world.ts";
import { openForAll } from "../support/open-for.ts";

/** Calls every route with every kind of key. */

type KeyKind = {
  readonly kind: "project" | "master";
  readonly scope: Scope | "no scopes";
  readonly role: Role;
  readonly plan: PricingPlan;
  readonly token: string;
};

type Route = readonly [method: string, path: string, entry: Endpoint];

const routes = listEndpoints().flatMap((entry) => {
  // A HEAD response has no body, which `readOutcome` needs.
  const methods = listMethods(entry).filter((method) => method !== "HEAD");
  return methods.map((method): Route => [method, entry.path, entry]);
});
const unknownId = "0190a000-0000-7000-8000-000000000000";
const admitted = "admitted";

describe("access control", () => {
  let world: World;
  let holders: readonly KeyKind[];
  openForAll(createWorld, async (opened) => {
    world = opened;
    holders = await makeKeys(world);
  });

  test.each(routes)(
    "%s %s accepts only keys with the plan, role and scope that the endpoint requires",
    async (method, _, entry) => {
      const outcomes: Record<string, string> = {};
      const expected: Record<string, string> = {};
      for (const holder of holders) {
        const { kind, scope, role, plan, token } = holder;
        const name = `${kind} key, ${plan} plan, ${role}, ${scope}`;
        outcomes[name] = readOutcome(await send(world, method, entry, { key: token }));
        expected[name] = findRefusal(entry, holder) ?? admitted;
      }
      expect(Object.keys(outcomes)).toHaveLength(
        (plans.length + 1) * roles.length * (scopes.length + 1),
      );
      expect(outcomes).toEqual(expected);
      expect(world.reported).toEqual([]);
    },
  );

  test.each(routes)(
    "%s %s rejects a missing or invalid key unless the endpoint is public",
    async (method, _, entry) => {
      const isOpen = entry.auth === "none";
      const wrong = { key: null, headers: { authorization: "Token nonsense" } };
      const outcomes = [
        await send(world, method, entry, { key: null }),
        await send(world, method, entry, wrong),
      ];
      const expected = isOpen ? [admitted, admitted] : [messages.key_missing, messages.key_invalid];
      expect(outcomes.map(readOutcome)).toEqual(expected);
    },
  );

  test.each(routes)(
    "%s %s rejects a key of a suspended account unless the endpoint is public",
    async (method, _, entry) => {
      const project = await world.addProject({ suspended: true });
      const key = await world.addKey({ project });
      const outcomes = readOutcome(await send(world, method, entry, { key }));
      expect(outcomes).toBe(entry.auth === "none" ? admitted : messages.account_suspended);
    },
  );
});

test("each reason for rejecting a key has its own error message", () => {
  const said: readonly string[] = [
    messages.key_missing,
    messages.key_invalid,
    messages.key_ambiguous,
    messages.account_suspended,
    messages.master_required,
    messages.project_key_required,
    messages.plan_required,
    ...scopes.map(messages.scope_missing),
    ...roles.map(messages.role_required),
  ];
  expect(new Set(said).size).toBe(said.length);
});

test.each([
  { scopes: ["links.create"], path: "known", outcomes: messages.scope_missing("links.update") },
  { scopes: ["links.update"], path: "known", outcomes: messages.scope_missing("links.create") },
  { scopes: ["links.create"], path: "new", outcomes: admitted },
  { scopes: ["links.create", "links.update"], path: "known", outcomes: admitted },
  { scopes: [], path: "known", outcomes: admitted },
] satisfies { scopes: Scope[]; path: string; outcomes: string }[])(
  "upserting a link at a $path path with the scopes $scopes results in: $outcomes",
  async ({ scopes: chosen, path, outcomes }) => {
    await using world = await createWorld();
    const { body: before } = await world.call("POST", "/links", { body: { path: "known" } });
    const key = await world.addKey({ scopes: chosen });
    const reply = await world.call("POST", "/links/upsert", { key, body: { path, name: "New" } });
    expect(readOutcome(reply)).toBe(outcomes);
    const { body: after } = await world.call("GET", `/links/${before.id}`);
    expect(after.name).toBe(outcomes === admitted && path === "known" ? "New" : null);
  },
);

test.each(roles)(
  "a key with the role %s can create a link with a new app only if the role may register apps",
  async (role) => {
    await using world = await createWorld();
    const key = await world.addKey({ role });
    const ios_app = { bundle_id: "com.shop", team_id: "TEAM000001" };
    const reply = await world.call("POST", "/links", { key, body: { path: "shop", ios_app } });
    const apps = await world.call("GET", "/ios_apps");
    const links = await world.call("GET", "/links");
    expect([readOutcome(reply), apps.body.meta.count, links.body.meta.count]).toEqual(
      role === "viewer" ? [messages.role_required("manager"), 0, 0] : [admitted, 1, 1],
    );
  },
);

const registrations = [
  ["ios_app", "ios_apps.create", { bundle_id: "com.shop", team_id: "TEAM000001" }],
  ["android_app", "android_apps.create", { package_name: "com.shop", fingerprints: ["AA:BB"] }],
] as const;

test.each(registrations)(
  "a request that writes a link can also create an %s only if the key has the scope %s",
  async (name, scope, app) => {
    await using world = await createWorld();
    const { id } = (await world.call("POST", "/links", { body: { path: "kept" } })).body;
    const rights = ["links.create", "links.update"] as const;
    const key = await world.addKey({ scopes: rights });
    const ways = [
      ["POST", "/links", {}],
      ["POST", "/links/upsert", { path: "new" }],
      ["POST", "/links/upsert", { path: "kept" }],
      ["PATCH", `/links/${id}`, {}],
    ] as const;
    for (const [method, path, rest] of ways) {
      const reply = await world.call(method, path, { key, body: { ...rest, [name]: app } });
      expect(readOutcome(reply)).toBe(messages.scope_missing(scope));
    }
    const count = async (path: string) => (await world.call("GET", path)).body.meta.count;
    expect([await count(`/${name}s`), await count("/links")]).toEqual([0, 1]);

    const fuller = await world.addKey({ scopes: [...rights, scope] });
    for (const caller of [fuller, key]) {
      // Every key that may write links may select an existing app.
      const body = { [name]: app };
      expect(readOutcome(await world.call("PATCH", `/links/${id}`, { key: caller, body }))).toBe(
        admitted,
      );
    }
    expect(await count(`/${name}s`)).toBe(1);
  },
);

test("a key with several scopes can call only the endpoints of those scopes", async () => {
  await using world = await createWorld();
  const key = await world.addKey({ scopes: ["links.index", "ios_apps.show"] });
  for (const [method, , entry] of routes) {
    const isOpen =
      entry.auth === "none" || ["links.index", "ios_apps.show"].includes(entry.scope ?? "");
    const outcomes = readOutcome(await send(world, method, entry, { key }));
    expect([entry.path, method, outcomes === admitted]).toEqual([entry.path, method, isOpen]);
  }
});

/** Sends the smallest request, because the key is checked before everything else. */
function send(world: World, method: string, entry: Endpoint, given: CallInput): Promise<Reply> {
  const fields = entry.wrapper === undefined ? {} : { [entry.wrapper]: {} };
  const body = entry.body === undefined ? {} : { body: fields };
  return world.call(method, entry.path.replace(":id", unknownId), { ...given, ...body });
}

function readOutcome({ status, body }: Reply): string {
  return status === 401 ? body.error : admitted;
}

/** Returns why the key is rejected, or undefined. Checks the key, scope, role and plan in order. */
function findRefusal(entry: Endpoint, { kind, scope, role, plan }: KeyKind): string | undefined {
  if (entry.auth === "none") return undefined;
  if (entry.auth === "master" && kind === "project") return messages.master_required;
  if (entry.auth === "project" && kind === "master") return messages.project_key_required;
  const isInScope = entry.scope === undefined || scope === "no scopes" || scope === entry.scope;
  if (!isInScope) return messages.scope_missing(entry.scope);
  const isHighEnough = entry.role === undefined || roles.indexOf(role) >= roles.indexOf(entry.role);
  if (!isHighEnough) return messages.role_required(entry.role);
  return entry.plan === "pro" && plan === "free" ? messages.plan_required : undefined;
}

async function makeKeys(world: World): Promise<readonly KeyKind[]> {
  const holders: KeyKind[] = [];
  const projects = {
    free: await world.addProject({ plan: "free" }),
    pro: await world.addProject({ plan: "pro" }),
  };
  for (const scope of ["no scopes", ...scopes] as const) {
    const wanted = scope === "no scopes" ? [] : [scope];
    for (const role of roles) {
      for (const plan of plans) {
        const token = await world.addKey({ project: projects[plan], scopes: wanted, role });
        holders.push({ kind: "project", scope, role, plan, token });
      }
      const token = await world.addKey({ project: null, scopes: wanted, role });
      holders.push({ kind: "master", scope, role, plan: "free", token });
    }
  }
  return holders;
}
