import { randomInt } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  createAssistantWorld,
  type AssistantClient,
  type AssistantWorld,
  type ListedTool,
} from "../../support/assistant-world.ts";
import { memoryFolder } from "../../support/folders.ts";

/** Odd arguments for every tool. The 1.x client checks each result against its outputSchema. */

const wanted = Number(process.env["FUZZ_CALLS"] ?? 2500);
/** By default every run makes the same calls. With FUZZ_CALLS each run makes new calls. */
const drawn = process.env["FUZZ_CALLS"] === undefined ? 958_592_080 : randomInt(2 ** 31);
const seed = Number(process.env["FUZZ_SEED"] ?? drawn);
const callsPerRun = 20;

type Args = Record<string, unknown>;
type Call = { readonly tool: string; readonly args: Args };
type Scene = { readonly assistant: AssistantWorld; readonly pool: Pool };

const hostileTexts = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "\u202e\u200b\u{e0049}",
  "../../etc/passwd",
  "%",
  "%2e%2e%2f",
  "%00",
  "//a.example",
  "http://default.localhost:8787/spring",
  "javascript:alert(1)",
  "https://a.example/?q=%ff",
  "'; DROP TABLE links; --",
  "{{ 7 * 7 }}",
  "${process.env}",
  "null",
  "undefined",
  "NaN",
  "-1",
  "1e999",
  "__proto__",
  "toString",
  '{"id":"x"}',
  '{"__proto__":{"admin":true}}',
  "[[[[",
  "[".repeat(3000),
  "x".repeat(9000),
  "é".repeat(3000),
  "00000000-0000-4000-8000-000000000000",
];

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 2, arbitrary: fc.constantFrom("https://a.example/b", "AA:BB:CC", "eq", "name", "asc") },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
);
const scalar = fc.oneof(
  { weight: 5, arbitrary: text },
  { weight: 1, arbitrary: fc.oneof(fc.integer(), fc.double(), fc.boolean(), fc.constant(null)) },
);
const anything = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(text, scalar, { maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.object({ maxDepth: 3 }) },
);

/** A placeholder that is replaced by the ID of an existing record. */
const live = "@live";
const number = fc.integer({ min: 0, max: 40 });
const linkHost = "http://default.localhost:8787";
const url = fc.oneof(
  number.map((some) => `https://a.example/${some}`),
  number.map((some) => `${linkHost}/p${some}`),
);

/** Generates values that the API accepts, so that some calls succeed. */
const plausible: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: fc.constantFrom(live, "p1", "com.a.b1"),
  plan_id: fc.constant(live),
  job_id: fc.constant(live),
  undo: fc.constant(live),
  rows: fc.array(
    number.map((some) => ({ path: `p${some}`, url: `https://a.example/${some}` })),
    { minLength: 1, maxLength: 3 },
  ),
  csv: number.map((some) => `path,name\np${some},'=Name ${some}\n`),
  changes: number.map((some) => ({ name: `Name ${some}` })),
  path: number.map((some) => `p${some}`),
  url,
  ios_fallback_url: url,
  android_fallback_url: url,
  social_image_url: url,
  prefix: fc.constantFrom("a", "go-"),
  provider_token: fc.constant("1"),
  campaign_token: fc.constant("mail"),
  bundle_id: number.map((some) => `com.a.b${some}`),
  clip_bundle_id: fc.constant("com.a.clip"),
  custom_scheme: fc.constantFrom("shop", "shop://"),
  package_name: number.map((some) => `com.a.b${some}`),
  team_id: fc.constant("ABCDE12345"),
  fingerprints: fc.constant(["AA:BB"]),
  subdomain: number.map((some) => `sub-${some}`),
  custom_domain: number.map((some) => `go${some}.example.com`),
  ios_app: number.map((some) => ({ bundle_id: `com.a.b${some}`, team_id: "ABCDE12345" })),
  android_app: number.map((some) => ({ package_name: `com.a.b${some}`, fingerprints: ["AA:BB"] })),
  options: fc.constant({ shorten: true }),
  body: number.map((some) => `<h1>{{ link.name }} ${some}</h1>\n{% store_buttons %}\n`),
  css: fc.constantFrom("", "h1 { color: red }"),
  filters: fc.constantFrom(
    [{ field: "name", condition: "present", value: false }],
    [{ field: "path", condition: "start", value: "p1" }],
  ),
};

function imagine(schema: object, name = ""): fc.Arbitrary<unknown> {
  const { type, properties, items, enum: members } = schema as Readonly<Record<string, unknown>>;
  const types = new Set([type].flat());
  const imagineFit = (): fc.Arbitrary<unknown> => {
    if (Array.isArray(members)) return fc.constantFrom<unknown>(...members);
    if (types.has("object")) return imagineObject({ properties } as InputSchema);
    if (type === "array") return fc.array(imagine(items as object), { maxLength: 3 });
    if (type === "integer") return fc.integer({ min: -1, max: 101 });
    return type === "boolean" ? fc.boolean() : scalar;
  };
  const fit = imagineFit();
  return fc.oneof(
    { weight: 10, arbitrary: plausible[name] ?? fit },
    { weight: 4, arbitrary: fit },
    { weight: 1, arbitrary: fit.map((value) => JSON.stringify(value) ?? "") },
    { weight: 1, arbitrary: anything },
  );
}

type InputSchema = ListedTool["inputSchema"];

function imagineObject({ properties = {}, required = [] }: InputSchema): fc.Arbitrary<Args> {
  const names = Object.keys(properties);
  const build = (write: (name: string) => fc.Arbitrary<unknown>, least: readonly string[]) => {
    const members = Object.fromEntries(names.map((name) => [name, write(name)]));
    return fc.record<Args>(members, { requiredKeys: [...least] });
  };
  const wild = build((name) => imagine(properties[name] ?? {}, name), []);
  const choose = (name: string) => plausible[name] ?? imagine(properties[name] ?? {});
  const polite = build(choose, required);
  // With many fields, one is usually wrong. With few fields, most calls are valid.
  const known = names.filter((name) => Object.hasOwn(plausible, name));
  const modest = fc.subarray(known, { maxLength: Math.min(2, known.length) }).chain((few) => {
    const chosen = [...new Set([...few, ...required])];
    return fc.record<Args>(Object.fromEntries(chosen.map((name) => [name, choose(name)])));
  });
  const strange = fc.dictionary(text, anything, { minKeys: 1, maxKeys: 2 });
  const mixed = fc.tuple(wild, strange).map(([one, other]) => ({ ...one, ...other }));
  return fc.oneof(
    { weight: 5, arbitrary: wild },
    { weight: 2, arbitrary: polite },
    { weight: 2, arbitrary: modest },
    { weight: 1, arbitrary: mixed },
  );
}

function imagineCall(tools: readonly ListedTool[]): fc.Arbitrary<Call> {
  const calls = tools.map(({ name, inputSchema }) =>
    imagineObject(inputSchema).map((args) => ({ tool: name, args })),
  );
  const maker = tools.find(({ name }) => name === "create_link");
  const plans = maker === undefined ? [] : [imaginePlan(maker.inputSchema)];
  return fc.oneof(...calls, ...plans);
}

/** Generates plans with one source and matching arguments, which chance would rarely combine. */
function imaginePlan(link: InputSchema): fc.Arbitrary<Call> {
  const { rows = anything, csv = anything, filters, changes } = plausible;
  const operation = fc.constantFrom("upsert", "update", "delete");
  const wild = fc.array(imagineObject(link), { minLength: 1, maxLength: 3 });
  const given = fc.oneof(
    fc.record<Args>({ operation, rows: fc.oneof(rows, wild) }),
    fc.record<Args>({ operation, csv: fc.oneof(csv, text) }),
    fc.record<Args>({
      operation: fc.constant("update"),
      filters: filters ?? anything,
      changes: fc.oneof(changes ?? anything, imagineObject(link)),
    }),
    fc.record<Args>({ operation: fc.constant("delete"), filters: filters ?? anything }),
    fc.constant<Args>({ undo: live }),
  );
  return given.map((args) => ({ tool: "plan_links", args }));
}

type Pool = Map<string, string[]>;

function enliven({ tool, args }: Call, pool: Pool): Args {
  const [, kind = ""] = /(ios_app|android_app|project|link|template_version)$/.exec(tool) ?? [];
  const kinds = { id: kind, plan_id: "plan", job_id: "job", undo: "job" };
  const alive = Object.entries(kinds).flatMap(([name, wanted]) => {
    const [id] = pool.get(wanted) ?? [];
    return args[name] === live && id !== undefined ? [[name, id] as const] : [];
  });
  return { ...args, ...Object.fromEntries(alive) };
}

type ResultRecord = {
  readonly id?: string;
  readonly live_version?: { readonly id: string } | null;
};

function remember(structured: Record<string, ResultRecord>, pool: Pool): void {
  for (const [kind, { id, live_version }] of Object.entries(structured)) {
    if (id === undefined) continue;
    if (live_version) pool.set("template_version", [live_version.id]);
    for (const [name, ids] of pool) {
      const others = ids.filter((known) => known !== id);
      pool.set(name, others);
    }
    if (kind !== "deleted") pool.set(kind, [id, ...(pool.get(kind) ?? [])]);
  }
}

/** Finds secrets and internal details, which no result may contain. */
function findLeak(said: string, { assistant: { world } }: Scene): string | undefined {
  const secrets = [
    world.key,
    world.master,
    world.file,
    memoryFolder,
    process.cwd(),
    "node_modules",
  ];
  const leak = secrets.find((secret) => said.includes(secret));
  if (leak !== undefined) return leak;
  const inner = /\bat \S+ \(|\.ts:\d|\.js:\d|node:internal|SQLITE|ZodError|TypeError|RangeError/;
  return inner.exec(said)?.[0];
}

const unseen = /\p{Cf}|\p{Cs}|(?![\n\t])\p{Cc}/u;
/** Joiners inside emoji have a visible effect, so they are allowed. */
const seen = /(?<=\p{Extended_Pictographic})\u200d/gu;

/** The most requests of a call. Plans, jobs and undo read every link that they change. */
function countMost(tool: string): number {
  return /_plan$|^plan_|^undo$/.test(tool) ? 1000 : 12;
}

async function check(scene: Scene, client: AssistantClient, call: Call): Promise<string> {
  const { tool } = call;
  const { assistant, pool } = scene;
  assistant.world.advance(250);
  assistant.advance(250);
  const before = assistant.countAsked();
  const sent = enliven(call, pool);
  const { isError, structured, text: said } = await client.callTool(tool, sent);
  // An odd call must not send more requests than an ordinary call.
  expect([tool, assistant.countAsked() - before <= countMost(tool)]).toEqual([tool, true]);
  expect(said).toBe(JSON.stringify(structured));
  expect([findLeak(said, scene), unseen.exec(said.replace(seen, ""))?.[0]]).toEqual([
    undefined,
    undefined,
  ]);
  expect(isError).toBe(structured.error !== undefined);
  if (!isError) {
    remember(structured, pool);
    return `${tool} done`;
  }
  const { code, next, effect } = structured.error;
  const unexpected = [...assistant.world.reported, ...assistant.reported].map(String);
  expect([tool, JSON.stringify(sent), unexpected]).toEqual([tool, expect.any(String), []]);
  expect([next.endsWith("."), effect]).toEqual([true, "none"]);
  return `${tool} ${code}`;
}

test(
  `${wanted} calls with hostile arguments return valid results (FUZZ_SEED=${seed})`,
  { timeout: 600_000 },
  async () => {
    await using assistant = await createAssistantWorld({ mode: "full", era: "v1" });
    const masters = await assistant.connect({ era: "v1", key: assistant.world.master });
    const scene: Scene = { assistant, pool: new Map() };
    const ends = new Map<string, number>();
    // A project key has four times as many tools as a master key.
    const call = fc.oneof(
      { weight: 4, arbitrary: imagineCall(await assistant.listTools()) },
      { weight: 1, arbitrary: imagineCall(await masters.listTools()) },
    );
    let made = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: callsPerRun, maxLength: callsPerRun }),
        async (batch) => {
          for (const asked of batch) {
            made += 1;
            const isMasters = /_projects?$/.test(asked.tool);
            const end = await check(scene, isMasters ? masters : assistant, asked);
            ends.set(end, (ends.get(end) ?? 0) + 1);
          }
        },
      ),
      { seed, numRuns: Math.ceil(wanted / callsPerRun), endOnFailure: true },
    );
    expect(made).toBeGreaterThanOrEqual(wanted);
    expect([...assistant.world.reported, ...assistant.reported]).toEqual([]);
    // Every tool must have succeeded and rejected a call at least once.
    const tools = new Set([...ends.keys()].map((end) => end.split(" ")[0]));
    expect(tools.size).toBe(43);
    for (const tool of tools) {
      expect([tool, ends.has(`${tool} done`)]).toEqual([tool, true]);
      expect([tool, ends.has(`${tool} invalid_arguments`)]).toEqual([tool, true]);
    }
  },
);
