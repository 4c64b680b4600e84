import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest, Agent } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { checkText } from "../support/api-description.ts";
import {
  createFolder,
  run,
  runHere,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { waitUntil } from "../support/clock.ts";
import { listEmbedded } from "./plant-embedded.ts";
import { openForEach } from "../support/open-for.ts";

/** `waypost serve` as a process: its start, its output and its end. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

/** The files of a served folder in which nothing was approved or changed. */
const servedFiles = ["listener.json", "listener.key", "owner.key", "waypost.db"];

test("serve exits with 1 if the database is down, so a supervisor can restart serve", async () => {
  const env = { WAYPOST_DATABASE_URL: "postgres://waypost@127.0.0.1:1/waypost" };
  const refused = await run(["serve", "--data", folder.path, "--port", "0"], { env });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  const place = env.WAYPOST_DATABASE_URL;
  expect(refused.stderr).toMatch(new RegExp(`^waypost: ${place} cannot be opened: [^\\n]+\\n$`));
  expect(refused.stderr).toContain("Start PostgreSQL there, or correct the host and the port");
});

test("serve explains what to do if PostgreSQL closes the connection during start-up", async () => {
  const server = createServer((socket) => socket.on("data", () => socket.resetAndDestroy()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const env = { WAYPOST_DATABASE_URL: `postgres://waypost@127.0.0.1:${address.port}/waypost` };
  const refused = await run(["serve", "--data", folder.path, "--port", "0"], { env });
  server.close();
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("Check that PostgreSQL is running there, and try again");
});

describe("waypost serve, when it is started", () => {
  test("creates a project and its owner's key the first time and prints next steps", async () => {
    const data = folder.path;
    await using serving = await startServe(data);
    const { places, key } = serving;
    const [, port = ""] = /:(\d+)$/.exec(places.url) ?? [];
    expect(places).toEqual({
      url: `http://127.0.0.1:${port}`,
      mcp: `http://127.0.0.1:${port}/mcp`,
      api: `http://127.0.0.1:${port}/api/v1`,
      links: `http://{subdomain}.localhost:${port}`,
      key_file: join(data, "owner.key"),
    });
    expect(statSync(data).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(data)) {
      expect([name, statSync(join(data, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    expect((await serving.call("POST", "/links", { body: { path: "one" } })).status).toBe(201);
    expect((await fetch(`${places.url}/healthz`)).status).toBe(200);

    const { code, stdout, stderr } = await serving.stop();
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    const lines = stderr.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toContain(`http://default.localhost:${port}`);
    expect(lines[1]).toContain(`${places.mcp}, with the key`);
    expect(lines[1]).toContain(places.key_file);
    expect(lines[2]).toContain(`${places.api}/links`);
    expect(lines[3]).toContain("keys create");
    expect(stderr).not.toContain(key);
    // The log was merged, so only the data and the key remain.
    expect(readdirSync(data).toSorted()).toEqual(servedFiles);
  });

  test("uses the existing key and data the second time and prints one line", async () => {
    await using first = await startServe(folder.path);
    await first.call("POST", "/links", { body: { path: "kept" } });
    await first.stop();
    await using second = await startServe(folder.path);
    expect(second.key).toBe(first.key);
    expect((await second.call("GET", "/links")).body.links).toMatchObject([{ path: "kept" }]);
    const lines = (await second.stop()).stderr.trimEnd().split("\n");
    expect(lines).toHaveLength(1);
    const { port } = new URL(second.places.url);
    expect(lines[0]).toMatch(`Links open at http://default.localhost:${port}. `);
  });

  test("explains where links open if several projects exist", async () => {
    const words = ["projects", "create", "--name", "Other", "--subdomain", "other"];
    await run(["keys", "create", "--data", folder.path]);
    expect((await run([...words, "--data", folder.path])).code).toBe(0);
    await using second = await startServe(folder.path);
    const { stderr } = await second.stop();
    const { port } = new URL(second.places.url);
    const host = `http://{subdomain}.localhost:${port}`;
    expect(stderr).toContain(`Links open at ${host}, one host for each project. `);
    const origin = "https://go.example.com";
    await using third = await startServe(folder.path, ["--link-origin", origin]);
    const said = (await third.stop()).stderr;
    expect(said).toContain(`Links open at ${origin}, only for the oldest project. `);
  });

  const open = /listens on 0\.0\.0\.0, where keys and approvals travel unencrypted.*--public-url/g;

  test.each([
    [["--host", "0.0.0.0", "--public-url", "http://links.example"], 1],
    [["--host", "0.0.0.0", "--public-url", "https://links.example"], 0],
  ])("given %j, prints %i warnings about unencrypted connections", async (words, times) => {
    await using serving = await startServe(folder.path, words);
    const { stderr } = await serving.stop();
    expect([...stderr.matchAll(open)]).toHaveLength(times);
  });

  test("uses the key file left by a first start that was killed", async () => {
    const key = `waypost_${"a".repeat(40)}`;
    mkdirSync(folder.path, { mode: 0o700 });
    writeFileSync(join(folder.path, "owner.key"), `${key}\n`, { mode: 0o600 });
    await using serving = await startServe(folder.path);
    expect(serving.key).toBe(key);
    expect((await serving.call("GET", "/links")).status).toBe(200);
  });
});

describe("waypost serve, when it is stopped", () => {
  test("completes the requests in progress and exits with 0", async () => {
    await using serving = await startServe(folder.path);
    const pending = await beginCreate(serving);
    const ended = serving.stop("SIGTERM");
    await waitUntilClosed(serving);
    expect(await pending.finish()).toBe(201);
    expect((await ended).code).toBe(0);
    expect(await listEmbedded(folder.path)).toMatchObject([{ path: "pending" }]);
  });

  test("does not wait for idle connections", async () => {
    await using serving = await startServe(folder.path);
    const agent = new Agent({ keepAlive: true });
    const request = httpRequest(`${serving.places.url}/healthz`, { agent }).end();
    const [response] = await once(request, "response");
    response.resume();
    await once(response, "end");
    expect((await serving.stop()).code).toBe(0);
    agent.destroy();
  });

  test("exits immediately if SIGINT follows SIGTERM", async () => {
    await using serving = await startServe(folder.path);
    const pending = await beginCreate(serving);
    const ended = serving.stop("SIGTERM");
    await waitUntilClosed(serving);
    void serving.stop("SIGINT");
    // The signal ended the process without an exit code and without waiting for the request.
    expect((await ended).code).toBeNull();
    await expect(pending.finish()).rejects.toThrow();
  });
});

test("a command finds the older of two servers after the newer one has stopped", async () => {
  await using first = await startServe(folder.path);
  // An earlier version stored only one place.
  const note = join(folder.path, "listener.json");
  const [place] = JSON.parse(readFileSync(note, "utf8"));
  writeFileSync(note, JSON.stringify(place));
  await using second = await startServe(folder.path);
  await second.stop();
  const words = ["webhooks", "create", "--data", folder.path, "--url", "https://hooks.example/"];
  expect((await run(words)).stderr).not.toContain("waypost serve is not running");
  expect((await first.call("GET", "/links")).status).toBe(200);
});

type Case = readonly [what: string, message: string, prepare: (folder: Folder) => ServeSetup];
type ServeSetup = {
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

describe("waypost", () => {
  const cases: readonly Case[] = [
    [
      "a folder below a file",
      "part of its path is a file; choose another folder with --data",
      belowFile,
    ],
    ["a folder with other files", "other users can open the data folder", foreignFolder],
    ["a waypost.db of another program", "is not a Waypost database", foreignFile],
    ["a key file without a key", "contains no key", foreignKey],
    ["a database that was emptied", "shows that it had data", emptiedStore],
    [
      "an IP address of another machine",
      "(EADDRNOTAVAIL); check --host and --port",
      () => ({ words: ["--host=192.0.2.1"] }),
    ],
    ["an invalid port", "--port (WAYPOST_PORT) must be", () => ({ words: ["--port", "http"] })],
    ["an unexpected argument", 'serve does not take "quietly"', () => ({ words: ["quietly"] })],
    [
      "a key of two words",
      "WAYPOST_API_KEY must contain one word",
      () => ({ env: { ...remote, WAYPOST_API_KEY: "two words" } }),
    ],
    [
      "a missing key file",
      // The file is not named, as the variable may contain the key itself.
      "the file named in WAYPOST_API_KEY_FILE cannot be read: it does not exist",
      () => ({ env: { ...remote, WAYPOST_API_KEY_FILE: "waypost_a-key-in-the-wrong-place" } }),
    ],
    [
      "a gateway's token in an empty file",
      "WAYPOST_HTTP_TOKEN_FILE must contain one word",
      () => ({ env: { ...remote, WAYPOST_HTTP_TOKEN_FILE: "/dev/null" } }),
    ],
  ];

  test.each(cases)(
    "exits with code 2 and a one-line error if serve is given %s",
    async (_, message, prepare) => {
      const prepared = prepare(folder);
      const { words = [], env = {} } = prepared;
      const data = ["--data", folder.path, "--port", "0"];
      const finished = await runHere(["serve", ...data, ...words], env);
      expectRefusal(finished, message);
    },
  );

  test("exits with code 2 and a one-line error if the port passed to serve is in use", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const finished = await runHere(["serve", "--data", folder.path, "--port", port]);
    expectRefusal(
      finished,
      `port ${port} on 127.0.0.1 is in use; stop the other process or pass --port`,
    );
    taken.close();
  });

  test.each([
    [["keys"], "use keys create"],
    [["projects", "delete"], "use projects create"],
  ])("exits with code 2 and a one-line error if the command is %j", async (words, message) => {
    expectRefusal(await run(words), message);
  });
});

test.each([[["--help"]], [["help"]], [["serve", "--help"]], [["keys", "--help"]]])(
  "waypost %j lists every command on stdout",
  async (words) => {
    const { code, stdout, stderr } = await runHere(words);
    expect([code, stderr]).toEqual([0, ""]);
    for (const command of ["serve", "keys create", "keys revoke", "projects update"]) {
      expect(stdout).toContain(`waypost ${command}`);
    }
  },
);

test("waypost --version prints the package version", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(await run(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

describe("waypost serve in front of a remote server", () => {
  test("prints the remote server's URL and the path of the clients' token file", async () => {
    await using serving = await startServe(folder.path, [], { env: remote });
    const { places, key: token, stop } = serving;
    const token_file = join(folder.path, "http.token");
    expect(places).toEqual({
      url: places.url,
      mcp: `${places.url}/mcp`,
      api: "https://links.example/api/v1",
      links: null,
      key_file: null,
      token_file,
    });
    expect(readdirSync(folder.path)).toEqual(["http.token"]);
    const { code, stdout, stderr } = await stop();
    expect([code, stdout.trimEnd().split("\n").length]).toEqual([0, 1]);
    const served = `Waypost serves MCP at ${places.mcp} for ${places.api}`;
    expect(stderr).toBe(`${served}; callers send the token in ${token_file}.\n`);
    expect(stdout + stderr).not.toContain(token);
  });

  test("prints the link origin and which environment variable contains the token", async () => {
    const known = { WAYPOST_HTTP_TOKEN: "given", WAYPOST_LINK_ORIGIN: "https://go.example" };
    await using serving = await startServe(folder.path, [], { env: { ...remote, ...known } });
    const { places, stop } = serving;
    expect(places).toMatchObject({ links: "https://go.example", token_file: null });
    expect((await stop()).stderr).toContain("callers send the token of WAYPOST_HTTP_TOKEN.");
  });
});

/** No request is sent to this server, as no tool is called. */
const remote = { WAYPOST_BASE_URL: "https://links.example" };

function belowFile({ path }: Folder): ServeSetup {
  writeFileSync(path, "a file");
  return { words: ["--data", join(path, "data")] };
}

function foreignFolder({ path }: Folder): ServeSetup {
  mkdirSync(path);
  chmodSync(path, 0o755);
  writeFileSync(join(path, "letter.txt"), "Dear diary");
  return {};
}

function foreignFile({ path }: Folder): ServeSetup {
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "waypost.db"), "Dear diary,\n".repeat(100));
  return {};
}

function foreignKey({ path }: Folder): ServeSetup {
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "owner.key"), "not a Waypost key\n");
  return {};
}

function emptiedStore(folder: Folder): ServeSetup {
  foreignKey(folder);
  writeFileSync(join(folder.path, "waypost.db"), "");
  return {};
}

function expectRefusal(
  finished: { readonly code: number | null; readonly stdout: string; readonly stderr: string },
  message: string,
): void {
  const { code, stdout, stderr } = finished;
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^waypost: [^\n]+\n$/);
}

async function beginCreate({ places, key }: Serving) {
  const url = `${places.api}/links`;
  const method = "POST";
  const body = JSON.stringify({ path: "pending" });
  const request = httpRequest(url, {
    method,
    headers: {
      authorization: `Token ${key}`,
      "content-type": "application/json",
      "content-length": body.length,
      expect: "100-continue",
    },
  });
  const answered = once(request, "response");
  answered.catch(() => undefined);
  request.flushHeaders();
  await once(request, "continue");
  request.write(body.slice(0, 5));
  return {
    finish: async () => {
      request.end(body.slice(5));
      const [response] = await answered;
      const { statusCode: status, headers } = response;
      checkText({ method, url, body }, { status, headers, text: await readText(response) });
      return status as unknown;
    },
  };
}

async function waitUntilClosed({ places }: Serving): Promise<void> {
  const ask = () => fetch(`${places.url}/healthz`, { headers: { connection: "close" } });
  await waitUntil(() =>
    ask().then(
      () => false,
      () => true,
    ),
  );
}
