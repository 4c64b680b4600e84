import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { settings } from "../../src/config/settings.ts";
import { modes } from "../../src/contract/rights.ts";
import { createFolder, createUsedFolder, startServe } from "../support/command.ts";
import { listFiles } from "../support/folders.ts";

/** The files by which MCP clients and registries find and install Waypost. */

const { version } = readJson("package.json");
const local = "http://127.0.0.1:8787/mcp";
const readme = readFileSync("README.md", "utf8");

test.each([
  "server.json",
  "manifest.json",
  "gemini-extension.json",
  ".claude-plugin/plugin.json",
  ".cursor-plugin/plugin.json",
])("%s has the same version as the package", (path) => {
  expect(readJson(path).version).toBe(version);
});

describe("server.json", () => {
  const server = readJson("server.json");

  test("lists this version's image and bundle but no npm package", () => {
    const packages = server.packages.map(({ registryType, identifier }: Package) => {
      return [registryType, identifier];
    });
    expect(packages).toEqual([
      ["oci", `ghcr.io/OWNER/waypost:${version}`],
      ["mcpb", `https://github.com/OWNER/waypost/releases/download/v${version}/waypost.mcpb`],
    ]);
    expect(server.description.length).toBeLessThanOrEqual(100);
    expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  });

  test("publishes the server's port only on the loopback address", () => {
    const [image] = server.packages;
    const runtime = image.runtimeArguments.map(({ name, value }: Argument) => {
      return name === undefined ? value : `${name}=${value}`;
    });
    expect(runtime).toContain("--publish=127.0.0.1:8787:8787");
    expect(runtime).toContain("--volume=waypost:/data");
    expect(image.packageArguments).toEqual([{ type: "positional", value: "serve" }]);
    const { type, url, headers } = image.transport;
    expect({ type, url }).toEqual({ type: "streamable-http", url: local });
    expect(headers).toMatchObject([
      { name: "Authorization", value: "Bearer {key}", variables: { key: { isSecret: true } } },
    ]);
  });

  test("describes the image's environment variables with the settings' help texts", () => {
    const { variable, help, default: usual } = settings.mode;
    const description = help.replaceAll("`", "");
    const mode = { name: variable, description, choices: modes, default: usual };
    expect(server.packages[0].environmentVariables).toEqual([mode]);
  });

  test("in a release contains the owner, the image name and the bundle's digest", async () => {
    await using folder = await createUsedFolder();
    const bundle = join(folder.path, "waypost.mcpb");
    await writeFile(bundle, "a bundle");
    const words = ["test/tools/release-server.js", "Acme", bundle];
    const { stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
    const released = JSON.parse(stdout);
    const digest = createHash("sha256").update("a bundle").digest("hex");
    expect(released.name).toBe("io.github.Acme/waypost");
    expect(released.packages).toMatchObject([
      { registryType: "oci", identifier: `ghcr.io/acme/waypost:${version}` },
      { registryType: "mcpb", fileSha256: digest },
    ]);
    expect(stdout).not.toContain("OWNER");
  });
});

type Package = { readonly registryType: string; readonly identifier: string };
type Argument = { readonly name?: string; readonly value: string };

describe("plugins and extensions", () => {
  test("connect Claude Code to a running server with a key from the environment", () => {
    const { mcpServers } = readJson(".claude-plugin/plugin.json");
    expect(mcpServers.waypost).toEqual({
      type: "http",
      url: `\${WAYPOST_MCP_URL:-${local}}`,
      headers: { Authorization: "Bearer ${WAYPOST_API_KEY}" },
    });
    const { plugins } = readJson(".claude-plugin/marketplace.json");
    expect(plugins).toMatchObject([{ name: "waypost", source: "./" }]);
  });

  test("connect Cursor to a running server with a key from the environment", () => {
    const { mcpServers } = readJson(".cursor-plugin/plugin.json");
    const expected = { url: local, headers: { Authorization: "Bearer ${env:WAYPOST_API_KEY}" } };
    expect(mcpServers.waypost).toEqual(expected);
  });

  test("connect Gemini to a running server with a key from the environment", () => {
    const { mcpServers } = readJson("gemini-extension.json");
    const expected = { httpUrl: local, headers: { Authorization: "Bearer $WAYPOST_API_KEY" } };
    expect(mcpServers.waypost).toEqual(expected);
  });
});

describe("the install links in README.md", () => {
  test("configure Cursor to connect to a running server", () => {
    const [, link = ""] = /\((https:\/\/cursor\.com\/\S+)\)/.exec(readme) ?? [];
    const query = new URL(link).searchParams;
    expect(query.get("name")).toBe("waypost");
    const config = JSON.parse(Buffer.from(query.get("config") ?? "", "base64").toString());
    expect(config).toEqual({ url: local, headers: { Authorization: "Bearer <your key>" } });
  });

  test("make VS Code prompt for the key", () => {
    const [, link = ""] = /\((https:\/\/vscode\.dev\/\S+)\)/.exec(readme) ?? [];
    const query = new URL(link).searchParams;
    const config = JSON.parse(query.get("config") ?? "");
    const [input] = JSON.parse(query.get("inputs") ?? "");
    expect(config.url).toBe(local);
    expect(config.headers.Authorization).toBe(`Bearer \${input:${input.id}}`);
    expect(input.password).toBe(true);
  });
});

test("the API host serves the repository's llms.txt at its root", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path);
  const response = await fetch(`${serving.places.url}/llms.txt`);
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const text = await response.text();
  expect(text).toBe(readFileSync("llms.txt", "utf8"));
  const topics = new Set(
    listFiles("docs").map((path) => path.slice("docs/".length, -".md".length)),
  );
  const named =
    text
      .split("\n\n")
      .at(-1)
      ?.match(/[a-z-]+(?:\/[a-z-]+)?(?=,|$)/gm) ?? [];
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !topics.has(name))).toEqual([]);
});

type Step = { readonly name?: string; readonly uses?: string; readonly run?: string };

describe("the CI workflows", () => {
  const workflows = ["test", "release"].map((name) => {
    const path = `.github/workflows/${name}.yml`;
    return { name, jobs: parse(readFileSync(path, "utf8")).jobs };
  });

  test("run the tests on every supported Node version", () => {
    const [{ jobs } = { jobs: {} }] = workflows;
    expect(jobs.test.strategy.matrix.node).toEqual([20, 22, 24]);
    expect(jobs.test.steps).toContainEqual({ run: ".ci/run" });
  });

  test("push the image under the name published in server.json", async () => {
    const [, { jobs } = { jobs: {} }] = workflows;
    const { steps } = jobs.release;
    const { run } = steps.find(({ name }: Step) => name === "Name the image");
    await using folder = await createUsedFolder();
    const file = join(folder.path, "env");
    const env = { OWNER: "Acme", VERSION: `v${version}`, GITHUB_ENV: file };
    spawnSync("bash", ["-e", "-c", run], { env });
    expect(readFileSync(file, "utf8")).toBe(`IMAGE=ghcr.io/acme/waypost:${version}\n`);
    const push = steps.find(({ uses }: Step) => uses?.startsWith("docker/build-push-action@"));
    expect(push.with.tags).toBe("${{ env.IMAGE }}");
  });

  test("validate server.json with the MCP registry before publishing", () => {
    const [, { jobs } = { jobs: {} }] = workflows;
    const steps: readonly Step[] = jobs.release.steps;
    const validates = steps.findIndex(({ run }) => run?.includes("/v0.1/validate"));
    const logsIn = steps.findIndex(({ uses }) => uses?.startsWith("docker/login-action@"));
    expect(validates).toBeGreaterThan(0);
    expect(validates).toBeLessThan(logsIn);
  });

  test.each([
    ['{"valid":true,"issues":[]}', 0],
    ['{"valid":false,"issues":[{"message":"no name"}]}', 1],
    ['{"title":"Bad Request"}', 1],
  ])("turn the MCP registry's response %s into exit code %i", async (answer, code) => {
    const [, { jobs } = { jobs: {} }] = workflows;
    const { run } = jobs.release.steps.find((step: Step) => step.run?.includes("/v0.1/validate"));
    await using folder = await createUsedFolder();
    await writeFile(join(folder.path, "curl"), `#!/bin/sh\necho '${answer}' > validation.json\n`);
    await chmod(join(folder.path, "curl"), 0o755);
    const env = { PATH: `${folder.path}:${process.env["PATH"]}` };
    const { status } = spawnSync("bash", ["-e", "-c", run], { env, cwd: folder.path });
    expect(status).toBe(code);
  });

  test("refer only to scripts and files that exist", () => {
    const { scripts } = readJson("package.json");
    const text = JSON.stringify(workflows);
    const named = [...text.matchAll(/npm run (\w+)/g)].map(([, script = ""]) => script);
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
    const paths = [...text.matchAll(/node (test\/[\w./-]+)/g)].map(([, path = ""]) => path);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
    expect(named.length + paths.length).toBeGreaterThan(1);
  });
});

// These files have no types, as each belongs to another program.
// oxlint-disable-next-line typescript/no-explicit-any
function readJson(path: string): any {
  return JSON.parse(readFileSync(path, "utf8"));
}
