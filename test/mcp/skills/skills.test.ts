import type { Client } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { describe, expect, test } from "vitest";
import { launchCampaign } from "../../../src/mcp/skills/launch-campaign.ts";
import { linkDoesNotOpenApp } from "../../../src/mcp/skills/link-does-not-open-app.ts";
import { moveLinksHere } from "../../../src/mcp/skills/move-links-here.ts";
import { answering, openStage, ownerFacts } from "../../support/stage.ts";

/** Guides that a model reads when it needs them; each names only what there is. */

const names = ["launch-campaign", "link-does-not-open-app", "move-links-here"];
const stage = { send: answering(500, {}), known: { facts: ownerFacts }, mode: "guarded" } as const;

test.each(["modern", "legacy"] as const)("a %s client lists and reads them", async (era) => {
  await using opened = await openStage({ ...stage, era });
  // Of these eras the client is the 2.x package's.
  const skills = new SkillsClient(opened.client as Client);
  const listed = await skills.list();
  expect(listed.skills.map(({ frontmatter }) => frontmatter.name)).toEqual(names);
  for (const skill of listed.skills) {
    // The SDK's client refuses a text whose digest or length is another.
    const { text = "" } = (await skills.read(skill)) as { readonly text?: string };
    expect(text).toContain(`name: ${skill.frontmatter.name}`);
  }
});

test.each([
  [{ mode: "read-only" }, []],
  [{ selection: ["templates", "links", "bulk"] }, ["launch-campaign"]],
  [{ selection: ["-apply_plan"] }, ["link-does-not-open-app"]],
] as const)("with %j those are there whose every tool is", async (given, left) => {
  await using opened = await openStage({ ...stage, ...given });
  const skills = new SkillsClient(opened.client as Client);
  const listed = (await skills.list()).skills.map(({ frontmatter }) => frontmatter.name);
  expect(listed).toEqual(left);
  for (const name of names.filter((one) => !listed.includes(one))) {
    const uri = `skill://waypost/${name}/SKILL.md`;
    await expect(opened.client.readResource({ uri })).rejects.toThrow("no such resource");
  }
});

test("none costs anything before it is read", async () => {
  await using opened = await openStage(stage);
  const shown = JSON.stringify([await opened.listTools(), opened.client.getInstructions()]);
  expect(shown).not.toContain("skill");
});

describe.each([
  ["launch-campaign", launchCampaign],
  ["link-does-not-open-app", linkDoesNotOpenApp],
  ["move-links-here", moveLinksHere],
])("%s", (_, text) => {
  test("names tools that there are, each with arguments that it takes", async () => {
    await using opened = await openStage(stage);
    const tools = new Map((await opened.listTools()).map((tool) => [tool.name, tool]));
    const calls = [...text.matchAll(/`([a-z_]+) \{([^`]*)\}`/g)];
    expect(calls.length).toBeGreaterThan(2);
    for (const [call, name = "", given = ""] of calls) {
      const known = Object.keys(tools.get(name)?.inputSchema.properties ?? {});
      // The outermost members alone: what stands in brackets is a value.
      const outer = given.replace(/: (?:\[.*\]|"[^"]*")/gs, "");
      const args = outer.split(/,\s*/).map((word) => word.trim());
      expect([call, known]).toEqual([call, expect.arrayContaining(args)]);
    }
  });

  test("names no tool and no field that there is not", async () => {
    await using opened = await openStage(stage);
    const tools = await opened.listTools();
    const known = new Set(JSON.stringify(tools).match(/[a-z]+(?:_[a-z]+)+/g));
    const elsewhere = new Set(["utm_source", "utm_medium", "utm_campaign"]);
    const words = [...text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, word]) => word ?? "");
    expect(words.length).toBeGreaterThan(3);
    expect(words.filter((word) => !known.has(word) && !elsewhere.has(word))).toEqual([]);
  });
});
