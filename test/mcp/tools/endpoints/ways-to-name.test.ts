import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Links and apps are found by any of their names, with as few requests as possible. */

let assistant: AssistantWorld;
let remote: AssistantWorld;
let spring: { readonly id: string; readonly shortened_path: string };
let queried: { readonly shortened_path: string };

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  async (opened) => {
    assistant = opened;
    remote = await createAssistantWorld({ mode: "full", isRemote: true, beside: opened.world });
    // Wait until the permissions of the key are known, so that probes do not count as lookups.
    await remote.listTools();
  },
);

const host = "default.localhost:8787";

beforeEach(async () => {
  const shortened = { path: "spring", name: "Spring sale", options: { shorten: true } };
  spring = await assistant.world.make("/links", shortened);
  queried = await assistant.world.make("/short_links", { url: `http://${host}/spring?utm=mail` });
  await assistant.plant("link", { path: "slashed/" });
});

const get = async (world: AssistantWorld, id: string, tool = "get_link") => {
  const before = world.countAsked();
  const { structured } = await world.callTool(tool, { id });
  // Do not count the last request, which reads the record.
  return { structured, lookups: world.countAsked() - before - 1 };
};

/** How users name a link, with the number of lookups in our own service and on a remote server. */
const ways: readonly (readonly [string, () => string, number, number | undefined])[] = [
  ["a path", () => "spring", 1, 1],
  ["a path between slashes", () => "/spring/", 1, 2],
  ["a path with a query", () => "spring?utm_source=mail#top", 1, 2],
  ["a path that was created with a trailing slash", () => "slashed", 1, 1],
  ["a URL", () => `http://${host}/spring`, 1, undefined],
  ["a URL without scheme and port", () => "default.localhost/spring", 1, undefined],
  ["a URL with a query and a slash", () => `https://${host}/spring/?utm=1`, 1, undefined],
  ["a short path", () => spring.shortened_path, 1, 2],
  ["a short URL", () => `http://${host}/${spring.shortened_path}`, 1, undefined],
  ["a short URL with a stored query", () => `${host}/${queried.shortened_path}`, 2, undefined],
];

test.each(ways)("get_link finds the link by %s", async (_, write, ownLookups, remoteLookups) => {
  const { structured, lookups } = await get(assistant, write());
  expect(structured.link?.path, JSON.stringify(structured)).toMatch(/^(spring|slashed)$/);
  expect(lookups).toBe(ownLookups);
  if (remoteLookups === undefined) return;
  const far = await get(remote, write());
  expect(far.structured.link.id).toBe(structured.link.id);
  expect(far.lookups).toBe(remoteLookups);
});

test("an exact path takes precedence over a URL or name", async () => {
  await assistant.plant("link", { path: `${host}/spring` });
  for (const id of ["spring", `${host}/spring`]) {
    expect((await get(assistant, id)).structured.link.path).toBe(id);
  }
});

test("get_link finds a link by its full name if only one link has this name", async () => {
  for (const id of ["Spring sale", "spring SALE"]) {
    expect((await get(assistant, id)).structured.link?.path, id).toBe("spring");
    expect((await get(remote, id)).structured.link?.path, id).toBe("spring");
  }
  await assistant.plant("link", { path: "twice", name: "Spring sale" });
  const { error } = (await get(assistant, "Spring sale")).structured;
  expect(error.message).toBe('More than one link matches "Spring sale".');
  expect(JSON.stringify(error.problems)).toMatch(/spring.*twice|twice.*spring/);
  await assistant.plant("link", { path: "Spring sale", name: "Another" });
  const { structured, lookups } = await get(assistant, "Spring sale");
  expect([structured.link.name, lookups]).toEqual(["Another", 1]);
});

test("get_link lists links with similar names if the given name is incomplete", async () => {
  await assistant.plant("link", { path: "x1", name: "Last spring" });
  for (const world of [assistant, remote]) {
    const { error } = (await get(world, "SPRING s")).structured;
    expect(error).toMatchObject({
      code: "not_found",
      problems: [
        { message: 'similar: name "Spring sale", path "spring"', fix: `Use id "${spring.id}".` },
      ],
    });
    const { problems } = (await get(world, "Spring")).structured.error;
    expect(problems.map(({ message }: { message: string }) => message).toSorted()).toEqual([
      'similar: name "Last spring", path "x1"',
      'similar: name "Spring sale", path "spring"',
    ]);
  }
});

describe("a URL on another host", () => {
  const id = "https://other.example/spring?utm=1";

  test("causes an error that names the project's host and the link at that path", async () => {
    const { error } = (await get(assistant, id)).structured;
    expect(error).toMatchObject({
      code: "not_found",
      effect: "none",
      next: "Ask the user which of these is meant, then call again with its id.",
      problems: [{ field: "id", fix: `Use id "${spring.id}".` }],
    });
    expect(error.message).toBe(
      `No link has the UUID, name, (short) path or address "${id}": ` +
        `the link host is "${host}", not "other.example". ` +
        `The link at "http://${host}/spring" is "Spring sale".`,
    );
  });

  test("without a scheme is rejected if no link exists at its path", async () => {
    const { error } = (await get(assistant, "other.example/winter")).structured;
    expect(error.message).toContain(`No link exists at "http://${host}/winter".`);
    expect(error.next).toContain("Look up the right id");
  });

  test("is reported as possibly wrong if the project's own host is unknown", async () => {
    const { error } = (await get(remote, id)).structured;
    expect(error.message).toContain(
      'Waypost does not know whether "other.example" is the link host',
    );
    expect(error.problems).toHaveLength(1);
  });
});

test("the remote server resolves a short URL if Waypost does not know the link host", async () => {
  const { structured } = await get(remote, `http://${host}/${spring.shortened_path}`);
  expect(structured.link.id).toBe(spring.id);
});

test("get_link accepts URLs on the subdomain of a project with a custom domain", async () => {
  const { store, project } = assistant.world;
  await store.write((db) =>
    db
      .updateTable("projects")
      .set({ custom_domain: "go.acme.example", custom_domain_verified: 1 })
      .where("id", "=", project.id)
      .execute(),
  );
  const fresh = await createAssistantWorld({ beside: assistant.world });
  for (const id of [`http://${host}/spring`, "go.acme.example/spring"]) {
    expect((await get(fresh, id)).structured.link?.id, id).toBe(spring.id);
  }
  const { error } = (await get(fresh, "other.example/spring")).structured;
  expect(error.message).toContain('the link host is "go.acme.example"');
  await fresh[Symbol.asyncDispose]();
});

describe("the lookup of an app", () => {
  const team_id = "ABCDE12345";

  beforeEach(async () => {
    await assistant.plant("ios_app", { bundle_id: "com.acme.shop", team_id, name: "Acme Shop" });
    await assistant.plant("ios_app", { bundle_id: "com.acme.one", team_id, name: "Twin" });
    await assistant.plant("ios_app", { bundle_id: "com.acme.two", team_id, name: "Twin" });
    await assistant.plant("ios_app", { bundle_id: "com.acme.lower", team_id, name: "twin" });
  });

  test.each(["acme shop", "COM.ACME.SHOP", " Acme Shop "])(
    "accepts the name or bundle ID %j, with one request",
    async (id) => {
      for (const world of [assistant, remote]) {
        const { structured, lookups } = await get(world, id, "get_ios_app");
        expect(structured.ios_app?.bundle_id).toBe("com.acme.shop");
        expect(lookups).toBe(1);
      }
    },
  );

  test("accepts a name that differs from another app's name only in capitalization", async () => {
    const { structured } = await get(assistant, "twin", "get_ios_app");
    expect(structured.ios_app.bundle_id).toBe("com.acme.lower");
  });

  test("returns an error that lists both apps if two apps have the same name", async () => {
    const { structured } = await assistant.callTool("delete_ios_app", { id: "Twin" });
    expect(structured.error).toMatchObject({
      code: "not_found",
      message: 'More than one iOS app matches "Twin".',
      problems: [
        { message: expect.stringContaining('name "Twin", bundle_id "com.acme.') },
        { message: expect.stringContaining('name "Twin", bundle_id "com.acme.') },
      ],
    });
  });
});

test("resolve_short_link accepts a URL without a scheme, or a path", async () => {
  for (const url of ["default.localhost/spring", spring.shortened_path]) {
    const { structured } = await assistant.callTool("resolve_short_link", { url });
    expect(structured.link.id).toBe(spring.id);
  }
});

test("explain_link applies the query of the given URL to the destination", async () => {
  await assistant.plant("link", { path: "on", url: "https://shop.example/" });
  for (const id of [`http://${host}/on?utm=1`, `${host}/on?utm=1`, "on?utm=1"]) {
    const { structured } = await assistant.callTool("explain_link", { id });
    expect(structured.visits.desktop.to).toBe("https://shop.example/?utm=1");
  }
});

test("shorten_link returns the existing short path of a link in this project", async () => {
  for (const url of ["Spring sale", `https://${host}/spring/`, spring.id, spring.shortened_path]) {
    const { structured } = await assistant.callTool("shorten_link", { url });
    expect(structured.link?.shortened_path, url).toBe(spring.shortened_path);
  }
});

test("shorten_link returns the short path that belongs to the given path and query", async () => {
  for (const url of ["spring?utm=mail", `${host}/spring?utm=mail`]) {
    const { structured } = await assistant.callTool("shorten_link", { url });
    expect(structured.link?.shortened_path).toBe(queried.shortened_path);
  }
});

test("shorten_link does not create a link for an unknown name", async () => {
  const { error } = await assistant.call("shorten_link", { url: "sprin" });
  expect(error).toMatchObject({ code: "not_found", effect: "none" });
  expect(error.problems[0].fix).toBe(`Use id "${spring.id}".`);
  const foreign = await assistant.callTool("shorten_link", { url: "other.example/spring" });
  expect(foreign.structured.error.code).toBe("validation_failed");
});

describe("a URL passed as the path of a link", () => {
  test("identifies the existing link at that URL", async () => {
    for (const path of [`${host}/spring/`, `HTTPS://${host}/spring?x=1`]) {
      const { structured } = await assistant.callTool("upsert_link", { path, name: "New" });
      expect(structured.link?.id, JSON.stringify(structured)).toBe(spring.id);
    }
    const args = { path: `http://${host}/slashed/`, name: "New" };
    const { structured } = await assistant.callTool("upsert_link", args);
    expect(structured.link).toMatchObject({ path: "slashed", name: "New" });
  });

  test("is reduced to its path for a new or moved link", async () => {
    const made = await assistant.callTool("create_link", {
      path: `http://${host}/a/%C3%A9t%C3%A9`,
    });
    expect(made.structured.link.path).toBe("a/été");
    const moved = await assistant.callTool("update_link", {
      id: "spring",
      path: `${host}/summer`,
    });
    expect(moved.structured.link.path).toBe("summer");
  });

  test.each(["create_link", "upsert_link"])(
    "is rejected by %s if its host is not the project's host",
    async (tool) => {
      const path = "https://other.example/autumn";
      const { error } = await assistant.call(tool, { path });
      expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
      expect(error.problems).toEqual([
        {
          field: "path",
          message: "Path is a whole address; pass only the part after the host, such as spring",
        },
      ]);
    },
  );
});
