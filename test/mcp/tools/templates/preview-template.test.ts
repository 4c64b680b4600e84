import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** `preview_template` returns a URL that shows the page of a link on a given device. */

const body = "<h1>{{ link.name }} on {{ platform }}</h1>\n{% store_buttons %}\n";
const sample = "Spring sale: 20% off everything";

let assistant: AssistantWorld;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  await assistant.plant("link", { path: "spring", name: "Spring", url: "https://example.com/" });
});

async function preview(args: Record<string, unknown>) {
  return await assistant.call("preview_template", args);
}

async function readHeading(args: Record<string, unknown>): Promise<string> {
  const { preview_url, error } = await preview({ body, ...args });
  expect(error).toBeUndefined();
  const { html } = await assistant.visit(preview_url);
  return /<h1>([^<]*)<\/h1>/.exec(html)?.[1] ?? "";
}

test("preview_template returns a random URL instead of the page", async () => {
  const result = await preview({ body });
  expect(Object.keys(result)).toEqual(["preview_url"]);
  expect(result.preview_url).toMatch(/^http:\/\/localhost:8787\/preview\/[\w-]{22}$/);
  expect((await preview({ body })).preview_url).not.toBe(result.preview_url);
});

test("preview_template returns both the URL and the page if `html` is true", async () => {
  const { preview_url, html } = await preview({ body, html: true });
  expect(html).toContain(`<h1>${sample} on ios</h1>`);
  expect((await assistant.visit(preview_url)).html).toContain(`<h1>${sample} on ios</h1>`);
});

test("preview_template returns the page without a URL if no port is open", async () => {
  await using deaf = await createAssistantWorld({ listens: false });
  const { structured } = await deaf.callTool("preview_template", { body });
  expect(Object.keys(structured)).toEqual(["html"]);
  expect(structured.html).toContain(`<h1>${sample} on ios</h1>`);
});

test.each(["ios", "android", "desktop"])(
  "preview_template renders the template for %s without problems",
  async (platform) => {
    expect(await preview({ platform })).not.toHaveProperty("problems");
    expect(await readHeading({ platform })).toBe(`${sample} on ${platform}`);
  },
);

describe("preview_template", () => {
  test("finds the link by path, URL or ID", async () => {
    const { links } = await assistant.call("list_links", {});
    const [{ id }] = links;
    const address = "http://default.localhost:8787/spring";
    for (const link_id of ["spring", "/spring", address, id]) {
      const heading = await readHeading({ link_id, body: body.replace("name", "path") });
      expect(heading).toBe("spring on ios");
    }
  });

  test("rejects an unknown link with an error that says what to do next", async () => {
    for (const link_id of ["sprang", "00000000-0000-4000-8000-000000000000"]) {
      const { error } = await preview({ link_id });
      expect(error).toMatchObject({ code: "not_found", effect: "none" });
      expect(error.next).toMatch(/link_id|Look up the right id/);
    }
  });
});

test("preview_template rejects a broken template and shows no page", async () => {
  const { error, preview_url } = await preview({ body: "<h1>\n<script>alert(1)</script>" });
  expect([preview_url, error]).toMatchObject([
    undefined,
    { code: "validation_failed", effect: "none" },
  ]);
});
