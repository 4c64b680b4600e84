import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createServed, run } from "../support/command.ts";
import { signInAt } from "../support/console.ts";
import { listFiles } from "../support/folders.ts";

/** The documentation within the program. */

const names = listFiles("docs")
  .filter((path) => path.endsWith(".md"))
  .map((path) => path.slice("docs/".length, -".md".length));

test.each([
  ["glossary", "glossary"],
  ["settings", "reference/settings"],
  ["undo", "history-and-undo"],
  ["Bulk", "bulk-and-import"],
  ["rest", "reference/rest"],
])(
  "waypost help %s prints the page with this name, or the only one with it in name or title",
  async (word, name) => {
    const { stdout } = await run(["help", word]);
    expect(stdout.trim()).toBe(readFileSync(`docs/${name}.md`, "utf8").trim());
  },
);

test("waypost help rejects a word that matches several pages", async () => {
  expect((await run(["help", "and"])).code).toBe(2);
});

test("waypost help COMMAND prints the same as waypost --help", async () => {
  expect(await run(["help", "backup"])).toEqual(await run(["--help"]));
});

test("waypost help topics lists every page in docs/ and the pages about the API", async () => {
  const { code, stdout } = await run(["help", "topics"]);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  const topics = lines.slice(1).map((line) => line.split(" ")[0]);
  const written = topics.filter((name) => !/^api(?:\/|$)/.test(name ?? ""));
  expect(new Set(written)).toEqual(new Set(names));
  expect(written).toHaveLength(names.length);
  expect(topics).toEqual(expect.arrayContaining(["api", "api/links", "api/ios-apps"]));
  expect(stdout).toMatch(/^bulk-and-import +Bulk work and imports$/m);
});

test.each(["glosary", "../package", "/etc/passwd"])(
  "waypost help %s fails with an error that names the command that lists all topics",
  async (name) => {
    const { code, stdout, stderr } = await run(["help", name]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`unknown help topic "${name}"`);
    expect(stderr).toContain("waypost help topics lists all topics");
  },
);

test("the console's help lists every page and contains no broken links", async () => {
  await using served = await createServed();
  const tab = await signInAt(served.serving);
  const { text: list } = await tab.open("/help");
  for (const name of names) expect(list).toContain(`href="/help/${name}"`);
  const shown = await Promise.all(names.map((name) => tab.open(`/help/${name}`)));
  expect(shown.map(({ status }) => status)).toEqual(names.map(() => 200));
  const links = shown.flatMap(({ text }) => [...text.matchAll(/href="(\/help\/[^"#]+)/g)]);
  const targets = new Set(links.map(([, target = ""]) => target));
  for (const target of targets) expect((await tab.open(target)).status).toBe(200);
});

test("the console shows an error for a help page that does not exist", async () => {
  await using served = await createServed();
  const tab = await signInAt(served.serving);
  expect((await tab.open("/help/nothing")).text).toContain(
    "The documentation has no page with this name.",
  );
});

test("a signed-out visitor gets the sign-in page instead of a help page", async () => {
  await using served = await createServed();
  const answer = await fetch(`${served.serving.places.url}/help/glossary`, { redirect: "manual" });
  expect(await answer.text()).not.toContain("Glossary");
});
