import { describe, expect, test } from "vitest";
import { openStage, ownerFacts, answering, type Stage } from "../../support/stage.ts";

/** Tests the prompts with the official clients of both versions. */

const known = { facts: ownerFacts };

async function get({ client }: Stage, name: string, args: Record<string, string> = {}) {
  const { messages, description } = await client.getPrompt({ name, arguments: args });
  expect(messages).toHaveLength(1);
  expect(description).toEqual(expect.any(String));
  const [message] = messages;
  expect(message).toMatchObject({ role: "user", content: { type: "text" } });
  return message?.content.type === "text" ? message.content.text : "";
}

describe.each(["v1", "modern"] as const)("a %s client", (era) => {
  test("lists four prompts with their titles, descriptions and arguments", async () => {
    await using stage = await openStage({ send: answering(200, {}), era, known });
    const { prompts } = await stage.client.listPrompts();
    const shown = prompts.map(({ name, arguments: taken = [] }) => [
      name,
      taken.map((argument) => `${argument.name}${argument.required === true ? "!" : ""}`),
    ]);
    expect(shown).toEqual([
      ["launch_campaign", ["name!", "url!", "path", "bundle_id", "package_name"]],
      ["audit_links", ["about"]],
      ["connect_app", ["bundle_id", "package_name"]],
      ["migrate_links", ["from"]],
    ]);
    for (const { title, description, arguments: taken = [] } of prompts) {
      expect(title).toMatch(/^[A-Z]/);
      expect(description).toMatch(/^[A-Z].*\.$/);
      for (const argument of taken) expect(argument.description).toMatch(/^[A-Z]/);
    }
  });

  test("gets a prompt's text with the arguments inserted", async () => {
    await using stage = await openStage({ send: answering(200, {}), era, known });
    const text = await get(stage, "launch_campaign", {
      name: "Spring",
      url: "https://a.example",
      bundle_id: "com.a",
      path: "  ",
    });
    expect(text).toContain('Launch the campaign "Spring". Its links open "https://a.example".');
    expect(text).toContain('It opens the app "com.a"');
    expect(text).toContain("Make a path from the campaign's name");
    expect(text).not.toContain("undefined");
    expect(await get(stage, "audit_links")).toContain("Audit the links: call audit_links once");
    expect(await get(stage, "audit_links", { about: "shoes" })).toContain('contains "shoes"');
    expect(await get(stage, "connect_app", { package_name: "com.b" })).toContain('name "com.b".');
    expect(await get(stage, "migrate_links")).toContain("here from another service.");
    expect(await get(stage, "migrate_links", { from: "Bitly" })).toContain('here from "Bitly".');
  });

  test.each([
    ["no_prompt", {}, 'Unknown prompt "no_prompt".'],
    ["launch_campaign", { name: "Spring" }, "The argument url is required."],
    ["launch_campaign", { name: " ", url: "https://a.example" }, "The argument name is required."],
    ["audit_links", { abuot: "a" }, 'Unknown argument "abuot". Known arguments: about.'],
    ["connect_app", { constructor: "a" }, 'Unknown argument "constructor"'],
  ])("gets an error for the prompt %s with the arguments %j", async (name, args, message) => {
    await using stage = await openStage({ send: answering(200, {}), era, known });
    const getting = stage.client.getPrompt({ name, arguments: args });
    await expect(getting).rejects.toThrow(message);
  });
});

test("a prompt's text contains the full URL, with invisible characters escaped", async () => {
  await using stage = await openStage({ send: answering(200, {}), known });
  const url = `https://a.example/${"x".repeat(2000)}`;
  const text = await get(stage, "launch_campaign", { name: "a\u202eb\nIgnore this", url });
  expect(text).toContain(`"${url}"`);
  expect(text.split("\n")[0]).toContain(String.raw`"a\\u{202e}b Ignore this"`);
});

test("the text of every prompt names only tools and fields that exist", async () => {
  await using stage = await openStage({ send: answering(200, {}), known });
  const tools = await stage.listTools();
  const names = new Set(JSON.stringify(tools).match(/[a-z]+(?:_[a-z]+)+/g));
  for (const [name, args] of [
    ["launch_campaign", { name: "a", url: "b" }],
    ["audit_links", {}],
    ["connect_app", {}],
    ["migrate_links", {}],
  ] as const) {
    const words = (await get(stage, name, args)).match(/\b[a-z]+(_[a-z]+)+\b/g) ?? [];
    expect(words.length).toBeGreaterThan(0);
    expect(words.filter((word) => !names.has(word) && word !== "utm_source")).toEqual([]);
  }
});

test.each([
  [{ mode: "read-only" }, ["audit_links", "connect_app"]],
  [{ selection: ["links"] }, ["launch_campaign", "audit_links"]],
  [{ selection: ["-apply_plan"] }, ["launch_campaign", "audit_links", "connect_app"]],
] as const)(
  "with %j, a prompt is listed only if all of its tools are available",
  async (given, left) => {
    await using stage = await openStage({ send: answering(200, {}), known, ...given });
    const { prompts } = await stage.client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(left);
    await expect(stage.client.getPrompt({ name: "migrate_links" })).rejects.toThrow(
      "Unknown prompt",
    );
  },
);
