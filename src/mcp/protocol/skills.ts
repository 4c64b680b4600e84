import { createHash } from "node:crypto";
import type { Server } from "@modelcontextprotocol/server";
import * as z from "zod";
import { launchCampaign } from "../skills/launch-campaign.ts";
import { linkDoesNotOpenApp } from "../skills/link-does-not-open-app.ts";
import { moveLinksHere } from "../skills/move-links-here.ts";
import { once } from "../schemas/once.ts";
import { leadsAway } from "../tools/keep-to-tools.ts";
import { findAbsent } from "../tools/toolbox.ts";
import { refuseParams, type HideErrors } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * Ways of working that a model reads when it needs them, and that cost nothing before (SEP-2640).
 * The SDK's own extension attaches to its `McpServer` alone, so that its two methods stand here.
 */

export const skillsExtension = "io.modelcontextprotocol/skills";

const mimeType = "text/markdown";
/** Their texts change with the version of Waypost alone; which of them there are, with the key. */
const cache = { ttlMs: 3_600_000, cacheScope: "private" } as const;

const listParams = z.object({ cursor: z.string().optional() });
const getParams = z.object({ uri: z.string() });

export function serveSkills(server: Server, options: Offering, hideErrors: HideErrors): void {
  const answerList = () => ({ skills: listOffered(options).map(({ entry }) => entry), ...cache });
  const answerGet = ({ uri }: z.output<typeof getParams>) => {
    const skill = findSkill(uri, options);
    if (skill === undefined) throw refuseParams("There is no such skill.");
    return { skill: skill.entry, ...cache };
  };
  server.setRequestHandler("skills/list", { params: listParams }, hideErrors(answerList));
  server.setRequestHandler("skills/get", { params: getParams }, hideErrors(answerGet));
}

type Offering = Pick<ServerOptions, "toolbox" | "keyContext">;

/** The text of a skill, as a resource; undefined for another address. */
export function readSkill(uri: string, options: Offering) {
  if (!uri.startsWith("skill:")) return undefined;
  const skill = findSkill(uri, options);
  return skill && { uri, mimeType, text: skill.text };
}

function findSkill(uri: string, options: Offering) {
  return listOffered(options).find(({ entry }) => entry.uri === uri);
}

/** Those whose every tool the key has, as with prompts: half a way of working is none. */
function listOffered({ toolbox, keyContext }: Offering) {
  const isAbsent = findAbsent(toolbox, keyContext);
  return listSkills().filter(({ text }) => !leadsAway(text, isAbsent));
}

/** Made when first asked for: a start that reads none makes none. */
const listSkills = once(() =>
  [launchCampaign, linkDoesNotOpenApp, moveLinksHere].map((text) => {
    const [, name = "", description = ""] =
      /^---\nname: ([\w-]+)\ndescription: (.+)\n---\n/.exec(text) ?? [];
    const uri = `skill://waypost/${name}/SKILL.md`;
    const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
    const resources = [{ uri, digest, size: Buffer.byteLength(text) }];
    return { text, entry: { uri, frontmatter: { name, description }, resources } };
  }),
);
