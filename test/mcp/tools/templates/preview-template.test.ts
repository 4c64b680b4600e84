import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** `preview_template`: where a person sees the page, for which link, and on which device. */

const body = "<h1>{{ link.name }} on {{ platform }}</h1>\n{% store_buttons %}\n";
const sample = "Spring sale: 20% off everything";

let assistant: AssistantWorld;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  await assistant.plant("link", { path: "spring", name: "Spring", url: "https://example.com/" });
});

async function preview(args: Record<string, unknown>) {
  return (await assistant.callTool("preview_template", args)).structured;
}

async function readHeading(args: Record<string, unknown>): Promise<string> {
  const { preview_url, error } = await preview({ body, ...args });
  expect(error).toBeUndefined();
  const { html } = await assistant.visit(preview_url);
  return /<h1>([^<]*)<\/h1>/.exec(html)?.[1] ?? "";
}

test("answers with an address that nobody guesses, and without the page", async () => {
  const result = await preview({ body });
  expect(Object.keys(result)).toEqual(["preview_url"]);
  expect(result.preview_url).toMatch(/^http:\/\/localhost:8787\/preview\/[\w-]{22}$/);
  expect((await preview({ body })).preview_url).not.toBe(result.preview_url);
});

test("answers with the page beside it where that is asked for", async () => {
  const { preview_url, html } = await preview({ body, html: true });
  expect(html).toContain(`<h1>${sample} on ios</h1>`);
  expect((await assistant.visit(preview_url)).html).toContain(`<h1>${sample} on ios</h1>`);
});

test("answers with the page alone where nothing listens", async () => {
  await using deaf = await createAssistantWorld({ listens: false });
  const { structured } = await deaf.callTool("preview_template", { body });
  expect(Object.keys(structured)).toEqual(["html"]);
  expect(structured.html).toContain(`<h1>${sample} on ios</h1>`);
});

test.each(["ios", "android", "desktop"])("shows what %s meets", async (platform) => {
  expect(await readHeading({ platform })).toBe(`${sample} on ${platform}`);
});

test("refuses a platform that there is not, and names those that there are", async () => {
  const { error } = await preview({ platform: "windows" });
  expect(error).toMatchObject({ code: "invalid_arguments" });
  expect(error.message).toContain("ios");
});

describe("of a link", () => {
  test("takes it by its path, its address and its id", async () => {
    const { links } = (await assistant.callTool("list_links", {})).structured;
    const [{ id }] = links;
    const address = "http://default.localhost:8787/spring";
    for (const link_id of ["spring", "/spring", address, id]) {
      const heading = await readHeading({ link_id, body: body.replace("name", "path") });
      expect(heading).toBe("spring on ios");
    }
  });

  test("that there is not is told so, with what to do", async () => {
    for (const link_id of ["sprang", "00000000-0000-4000-8000-000000000000"]) {
      const { error } = await preview({ link_id });
      expect(error).toMatchObject({ code: "not_found", effect: "none" });
      expect(error.next).toMatch(/link_id|Look up the right id/);
    }
  });
});

test.each(["ios", "android", "desktop"])("the starter has no problems on %s", async (platform) => {
  expect(await preview({ platform })).not.toHaveProperty("problems");
});

test("a broken template has no address, and its problems by line", async () => {
  const { error, preview_url } = await preview({ body: "<h1>\n<script>alert(1)</script>" });
  expect(preview_url).toBeUndefined();
  expect(error).toMatchObject({ code: "validation_failed", effect: "none" });
  expect(error.problems).toContainEqual(expect.objectContaining({ field: "body", line: 2 }));
});
