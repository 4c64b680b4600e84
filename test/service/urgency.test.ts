import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, origin, type World } from "../support/world.ts";

/** Whose write is next: the `Priority` header of RFC 9218, as a job sends it. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

test.each(["u=6", "i, u=6", "u=7;x, i"])(
  "a write with Priority %s lets others go first",
  (header) => expect(writeBeside(header)).resolves.toEqual(["plain", "asked"]),
);

// Firefox sends 4 with whatever a page fetches, and so with what a person does there.
test.each(["u=3", "u=4", "u=5, i", "u=0, i", "i", "u=9", "u=66", "urgent", ""])(
  "a write with Priority %j keeps its place",
  (header) => expect(writeBeside(header)).resolves.toEqual(["asked", "plain"]),
);

test("a project with it lets others go first as well", async () => {
  const done: string[] = [];
  const create = async (name: string, headers: Readonly<Record<string, string>>) => {
    const project = { name, subdomain: name };
    await post("/projects", world.master, { project }, headers);
    done.push(name);
  };
  await Promise.all([create("asked", { priority: "u=6" }), create("plain", {})]);
  expect(done).toEqual(["plain", "asked"]);
});

/** Which of two links was there first: one with the header, and one sent right after it. */
async function writeBeside(priority: string): Promise<readonly string[]> {
  const done: string[] = [];
  const create = async (path: string, headers: Readonly<Record<string, string>>) => {
    await post("/links", world.key, { path }, headers);
    done.push(path);
  };
  await Promise.all([create("asked", { priority }), create("plain", {})]);
  return done;
}

async function post(
  path: string,
  key: string,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { status } = await world.answer({
    method: "POST",
    url: `${origin}${apiPrefix}${path}`,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  expect(status).toBe(201);
}
