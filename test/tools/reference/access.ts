import type { KeyFacts } from "../../../src/contract/access.ts";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { listToolEndpoints } from "../../../src/contract/index.ts";
import {
  defaultMaxLinks,
  plans,
  proLinkFields,
  roles,
  scopes,
  type Role,
  type Scope,
} from "../../../src/contract/rights.ts";
import { createAccess } from "../../../src/mcp/access/key-access.ts";
import { createLearnedAccess } from "../../../src/mcp/access/remote-access.ts";
import type { Tool } from "../../../src/mcp/tools/tool.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { endpoints, nameEndpoint } from "./rest.ts";
import { code, listCodes, writeTable } from "./table.ts";

/** What each tool needs, found by checking every kind of key. */
export function writeToolAccess(): string {
  const { tools } = createToolbox({ mode: "guarded", selection: [] });
  const rows = tools.map((tool) => [code(tool.name), ...describeNeeds(tool)]);
  return writeTable(["tool", "scope", "role", "plan"], rows);
}

const owner: KeyFacts = {
  kind: "project",
  scopes: [],
  role: "owner",
  plan: "pro",
  suspended: false,
};

function describeNeeds(tool: Tool): readonly string[] {
  const isGranted = (facts: Partial<KeyFacts>) => isGrantedTo(tool, { ...owner, ...facts });
  if (!isGranted({})) return ["a master key", "", ""];
  return [
    describeScopes((given) => isGranted({ scopes: given })),
    roles.find((role) => isGranted({ role })) ?? "",
    plans.find((plan) => isGranted({ plan })) ?? "",
  ];
}

/** One scope is enough for most tools; the others need several, or one of many. */
function describeScopes(isEnough: (given: readonly Scope[]) => boolean): string {
  const enough = scopes.filter((scope) => isEnough([scope]));
  if (enough.length === scopes.length) return "none";
  if (enough.length > 3) return "one that writes";
  if (enough.length > 0) return enough.map(code).join(" or ");
  const needed = scopes.filter((scope) => !isEnough(scopes.filter((other) => other !== scope)));
  const rest = isEnough(needed) ? [] : ["one that writes"];
  return [...needed.map(code), ...rest].join(" and ");
}

function isGrantedTo({ readAccess }: Tool, facts: KeyFacts): boolean {
  const access = createAccess({
    hasKey: true,
    scopes: undefined,
    isProbed: () => false,
    facts,
    learned: createLearnedAccess({
      owner: "",
      openMemory: undefined,
      now: () => 0,
      report: String,
    }),
    onChange: () => undefined,
  });
  return readAccess(access).state === "granted";
}

export function writeScopes(): string {
  const rows = scopes.map((scope) => [
    code(scope),
    listNamed(({ scope: needed }) => needed === scope),
    [
      ...listUses(scope, "overwrite_scope", "if the path exists"),
      ...listUses(scope, "link_scope", "if it names a link"),
    ].join("; "),
  ]);
  return writeTable(["scope", "permits", "also needed for"], rows);
}

function listUses(scope: Scope, member: "overwrite_scope" | "link_scope", when: string) {
  const found = listNamed((endpoint) => endpoint[member] === scope);
  return found === "" ? [] : [`${found} ${when}`];
}

function listNamed(isMeant: (endpoint: Endpoint) => boolean): string {
  return endpoints.filter(isMeant).map(nameEndpoint).join(", ");
}

export function writeRoles(): string {
  return writeTable(
    ["role", "may"],
    roles.map((role) => [code(role), rights[role]]),
  );
}

const rights: Readonly<Record<Role, string>> = {
  viewer: "read links, statistics and apps",
  manager: "do everything that the key's scopes permit",
  owner: "the same; the role of a new key, unless you choose another one",
};

export function writePlans(): string {
  const proTools = listToolEndpoints().flatMap(({ plan, tool }) => (plan === "pro" ? [tool] : []));
  return writeTable(
    ["what", ...plans],
    [
      ["links", `${defaultMaxLinks}, or what \`--max-links\` says`, "no limit"],
      [`link fields ${listCodes(proLinkFields)}`, "refused", "yes"],
      [`tools ${listCodes(proTools)}`, "refused", "yes"],
    ],
  );
}
