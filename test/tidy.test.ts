import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { listFiles } from "./support/folders.ts";

/** Rules about the form of the code: lengths, names, and access to the process. */

type Source = { readonly path: string; readonly text: string };

const sources = list("src").filter(({ path }) => path.endsWith(".ts"));
const tests = list("test").filter(({ path }) => /\.(ts|js)$/.test(path));

describe("access to Node's process object", () => {
  /** src/entry.ts checks the version of Node before it can import anything. */
  const started = sources.filter(({ path }) => path !== "src/entry.ts");

  test("is limited to src/commands/terminal/output.ts for stdout and stderr", () => {
    const speakers = started
      .filter(({ text }) => /process\.stdout|(?<![\w./-])console\.\w|process\.stderr/.test(text))
      .map(({ path }) => path);
    expect(speakers).toEqual(["src/commands/terminal/output.ts"]);
  });

  test("is limited to src/main.ts for the environment, the arguments and the exit code", () => {
    const readers = started
      .filter(({ text }) => /process\.(env|argv|exit)/.test(text))
      .map(({ path }) => path);
    expect(readers).toEqual(["src/main.ts"]);
  });
});

describe("the source files", () => {
  test("have at most 500 lines, each with at most 100 characters", () => {
    const long = [...sources, ...tests].filter(({ text }) => {
      const lines = text.split("\n");
      return lines.length > 501 || lines.some((line) => line.length > 100);
    });
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  test("have kebab-case names, and none is called util, helper, misc or common", () => {
    const names = [...sources, ...tests].map(({ path }) => basename(path));
    const proper = /^[a-z0-9-]+(\.test|\.config|\.d)?\.(ts|js)$/;
    expect(names.filter((name) => !proper.test(name))).toEqual([]);
    expect(names.filter((name) => /util|helper|misc|common/.test(name))).toEqual([]);
  });

  test("include at most 35 files in test/support", () => {
    const kit = tests.filter(({ path }) => path.startsWith("test/support/"));
    expect(kit.length).toBeLessThanOrEqual(35);
  });

  test("do not call URL.canParse, which breaks after many calls in Node 20 and 22", () => {
    const askers = sources.filter(({ text }) => text.includes(".canParse("));
    expect(askers.map(({ path }) => path)).toEqual([]);
  });

  test("contain no classes except errors, and no TODO comments", () => {
    const classes = sources.flatMap(({ text }) => text.match(/^.*\bclass \w+.*\{/gm) ?? []);
    expect(classes.filter((line) => !/ extends (Error|CallFailure) /.test(line))).toEqual([]);
    const leftovers = sources.filter(({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text));
    expect(leftovers).toEqual([]);
  });
});

type LockedPackage = {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
};

/** The packages that Waypost consists of, and those that test it. */
const locks = ["package-lock.json", "test/package-lock.json"].map((path) => {
  const { packages } = JSON.parse(readFileSync(path, "utf8"));
  return { path, packages: Object.entries<LockedPackage>(packages) };
});

test.each(locks)("$path lists the packages for every platform, as npm ci requires", (lock) => {
  const known = new Set(lock.packages.map(([path]) => path.split("node_modules/").at(-1)));
  const missing = lock.packages.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !known.has(name))
      .map((name) => `${path} → ${name}`),
  );
  expect(lock.packages.length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});

test.each(locks)(
  "the dependencies in $path support every Node version that Waypost supports",
  (lock) => {
    const strict = lock.packages.flatMap(([path, { engines }]) =>
      engines?.node === undefined ? [] : [{ path, range: engines.node }],
    );
    const refusals = ["20.19.0", "20.20.2", "22.23.3", "24.21.0"].flatMap((version) =>
      strict.filter(({ range }) => !admits(range, version)).map(({ path }) => `${path} ${version}`),
    );
    expect(strict.length).toBeGreaterThan(25);
    expect(refusals).toEqual([]);
  },
);

test("the check of version ranges gives the same results as npm", () => {
  expect(["^22.17.0 || >=24.0.0", ">=22", "20.18", "~20.1"].filter(admitsOurOldest)).toEqual([]);
  expect(["^20.19.0 || >=22", "20 || >=22", ">= 18", ">=20 <21"].every(admitsOurOldest)).toBe(true);
});

const admitsOurOldest = (range: string) => admits(range, "20.20.2");

/** Ranges as packages write them for Node: alternatives with one or more bounds. */
function admits(range: string, version: string): boolean {
  return range
    .split("||")
    .some((alternative) =>
      [...alternative.matchAll(/([<>=^~]*)\s*v?(\d+(?:\.(?:\d+|[x*]))*)|\*/g)].every(
        ([, sign = "", bound]) => bound === undefined || isWithin(version, sign, bound),
      ),
    );
}

function isWithin(version: string, sign: string, bound: string): boolean {
  const given = version.split(".").map(Number);
  const wanted = bound.split(".").map(Number).filter(Number.isInteger);
  const isSame = (places: number) =>
    wanted.slice(0, places).every((part, place) => part === given[place]);
  const place = wanted.findIndex((part, index) => part !== given[index]);
  const order = place < 0 ? 0 : (given[place] ?? 0) - (wanted[place] ?? 0);
  if (sign === ">=") return order >= 0;
  if (sign === ">") return order > 0;
  if (sign === "<") return order < 0;
  if (sign === "<=") return order <= 0;
  if (sign === "^") return order >= 0 && isSame(1);
  if (sign === "~") return order >= 0 && isSame(2);
  return isSame(wanted.length);
}

function list(folder: string): readonly Source[] {
  return listFiles(folder).map((path) => ({ path, text: readFileSync(path, "utf8") }));
}
