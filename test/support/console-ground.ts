import { runJson, type Folder, type Serving } from "./command.ts";
import { modernCall, post } from "./mcp-post.ts";
import { expect } from "vitest";

/** A project with one of everything that the console shows, some of it of strangers. */
export type ConsoleGround = {
  readonly link: string;
  readonly app: string;
  readonly key: string;
  readonly webhook: string;
  /** Whose key is `master`. */
  readonly project: string;
  readonly master: string;
  /** The address of a page on which an approval waits. */
  readonly approval: string;
};

type Served = { readonly serving: Serving; readonly folder: Folder };

/** More than a page of them. */
const mostApps = 60;

/** Whatever runs or loads of it says so in the page. */
export const hostile =
  `"><script>window.hacked=1</script><img src=x onerror=window.hacked=1>` +
  `'&lt;\u202e${"x".repeat(60)}{{ project.name }} مرحبا`;

export async function plantConsole({ serving, folder }: Served): Promise<ConsoleGround> {
  const plant = async (path: string, body: object) => {
    const made = await serving.call("POST", path, { body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body;
  };
  const { id } = await plant("/links", {
    path: "größe/'\"<b>",
    name: hostile,
    url: "https://example.com/a?<script>",
  });
  for (let week = 1; week <= 25; week += 1) {
    const name = week % 5 === 0 ? hostile : `Week ${week}`;
    await plant("/links", { path: `week-${week}`, name, url: "https://example.com/week" });
  }
  const bundle_id = "com.example.app";
  const app = { bundle_id, team_id: "ABCDE12345", name: hostile, app_store_id: "1" };
  const { id: appId } = await plant("/ios_apps", { ios_app: app });
  for (let turn = 0; turn < mostApps; turn += 1) {
    const fingerprints = [Array.from({ length: 32 }, () => "AB").join(":")];
    const package_name = `com.example.a${turn}`;
    await plant("/android_apps", { android_app: { package_name, fingerprints } });
  }
  const inFolder = ["--data", folder.path];
  const { token: master } = await runJson(["keys", "create", "--master", ...inFolder]);
  const { id: key } = await runJson(["keys", "create", "--scopes", "links.show", ...inFolder]);
  // Of what it is told of nothing comes about.
  const told = ["--url", "https://example.com/'<b>hook", "--events", "install.matched"];
  const { id: webhook } = await runJson(["webhooks", "create", ...told, ...inFolder]);
  const named = ["--name", hostile, "--subdomain", "strange"];
  const { id: project } = await runJson(["projects", "create", ...named, ...inFolder]);
  await callTool(serving, "update_link", { id, social_title: hostile });
  await callTool(serving, "create_link", { path: "gone", name: hostile });
  const asked = await callTool(serving, "delete_link", { id: "week-1" });
  const approval = asked.error.approval.url;
  return { link: id, app: appId, key, webhook, project, master, approval };
}

/** As an assistant with the same key. */
export async function callTool({ places, key }: Serving, name: string, args: object) {
  const { text } = await post(places.mcp, modernCall(key, 1, name, args));
  const [, json = text] = /^data: (.*"result".*)$/m.exec(text) ?? [];
  return JSON.parse(json).result.structuredContent;
}
