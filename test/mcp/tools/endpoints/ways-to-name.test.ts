import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Every way in which a person names a link or an app finds it, in the fewest requests. */

let assistant: AssistantWorld;
let remote: AssistantWorld;
let spring: { readonly id: string; readonly shortened_path: string };
let queried: { readonly shortened_path: string };

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  async (opened) => {
    assistant = opened;
    remote = await createAssistantWorld({ mode: "full", isRemote: true, beside: opened.world });
    // What the key may do is found out beside the first call, and a list waits for it.
    await remote.listTools();
  },
);

const host = "default.localhost:8787";

beforeEach(async () => {
  const shortened = { path: "spring", name: "Spring sale", options: { shorten: true } };
  spring = await plant("/links", shortened);
  queried = await plant("/short_links", { url: `http://${host}/spring?utm=mail` });
  await plant("/links", { path: "slashed/" });
});

async function plant(path: string, body: object) {
  const reply = await assistant.world.call("POST", path, { body });
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body;
}

const get = async (world: AssistantWorld, id: string, tool = "get_link") => {
  const before = world.countAsked();
  const { structured } = await world.callTool(tool, { id });
  // The last one reads what was found.
  return { structured, lookups: world.countAsked() - before - 1 };
};

/** How it is written, and how many requests find it in our own service and in another. */
const ways: readonly (readonly [string, () => string, number, number | undefined])[] = [
  ["a path", () => "spring", 1, 1],
  ["a path with slashes around", () => "/spring/", 1, 2],
  ["a path with a query", () => "spring?utm_source=mail#top", 1, 2],
  ["a path that was made with a slash at its end", () => "slashed", 1, 1],
  ["an address", () => `http://${host}/spring`, 1, undefined],
  ["an address without its scheme", () => `${host}/spring`, 1, undefined],
  ["an address without its port", () => "default.localhost/spring", 1, undefined],
  ["an address of another scheme", () => `https://${host}/spring`, 1, undefined],
  ["an address with a query and a slash", () => `http://${host}/spring/?utm=1`, 1, undefined],
  ["a short path", () => spring.shortened_path, 1, 2],
  ["a short path with a slash", () => `/${spring.shortened_path}`, 1, 2],
  ["a short address", () => `http://${host}/${spring.shortened_path}`, 1, undefined],
  ["a short address without scheme", () => `${host}/${spring.shortened_path}`, 1, undefined],
  ["a short address of a query", () => `${host}/${queried.shortened_path}`, 2, undefined],
];

test.each(ways)("%s names a link", async (_, write, own, elsewhere) => {
  const here = await get(assistant, write());
  const { structured } = here;
  expect(structured.link?.path, JSON.stringify(structured)).toMatch(/^(spring|slashed)$/);
  expect(here.lookups).toBe(own);
  if (elsewhere === undefined) return;
  const there = await get(remote, write());
  expect(there.structured.link.id).toBe(structured.link.id);
  expect(there.lookups).toBe(elsewhere);
});

test("the exact path wins over every other reading", async () => {
  await plant("/links", { path: `${host}/spring` });
  for (const id of ["spring", `${host}/spring`]) {
    expect((await get(assistant, id)).structured.link.path).toBe(id);
  }
});

test("a link's whole name names it, unless two have it or a path is the same", async () => {
  for (const id of ["Spring sale", "spring SALE"]) {
    expect((await get(assistant, id)).structured.link?.path, id).toBe("spring");
    expect((await get(remote, id)).structured.link?.path, id).toBe("spring");
  }
  await plant("/links", { path: "twice", name: "Spring sale" });
  const { error } = (await get(assistant, "Spring sale")).structured;
  expect(error.message).toBe('More than one link matches "Spring sale".');
  expect(JSON.stringify(error.problems)).toMatch(/spring.*twice|twice.*spring/);
  await plant("/links", { path: "Spring sale", name: "Another" });
  const { structured, lookups } = await get(assistant, "Spring sale");
  expect([structured.link.name, lookups]).toEqual(["Another", 1]);
});

test("links with such a text in their names are told where none has it for a name", async () => {
  await plant("/links", { path: "x1", name: "Last spring" });
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

describe("an address on another host", () => {
  const id = "https://elsewhere.example/spring?utm=1";

  test("says which host is ours, and what is there", async () => {
    const { error } = (await get(assistant, id)).structured;
    expect(error).toMatchObject({
      code: "not_found",
      effect: "none",
      next: "Ask the user which of these is meant, then call again with its id.",
      problems: [{ field: "id", fix: `Use id "${spring.id}".` }],
    });
    expect(error.message).toBe(
      `No link has the UUID, name, (short) path or address "${id}": ` +
        `the link host is "${host}", not "elsewhere.example". ` +
        `The link at "http://${host}/spring" is "Spring sale".`,
    );
  });

  test("also where it has no scheme, and where nothing is there", async () => {
    const { error } = (await get(assistant, "elsewhere.example/winter")).structured;
    expect(error.message).toContain(`No link exists at "http://${host}/winter".`);
    expect(error.next).toContain("Look up the right id");
  });

  test("is not taken for ours where nobody knows our host", async () => {
    const { error } = (await get(remote, id)).structured;
    expect(error.message).toContain(
      'Waypost does not know whether "elsewhere.example" is the link host',
    );
    expect(error.problems).toHaveLength(1);
  });
});

test("a host that only the deployment knows is asked of the deployment", async () => {
  const { structured } = await get(remote, `http://${host}/${spring.shortened_path}`);
  expect(structured.link.id).toBe(spring.id);
});

test("the subdomain is ours beside a domain of its own", async () => {
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
  const { error } = (await get(fresh, "elsewhere.example/spring")).structured;
  expect(error.message).toContain('the link host is "go.acme.example"');
  await fresh[Symbol.asyncDispose]();
});

describe("an app is named", () => {
  const team_id = "ABCDE12345";

  beforeEach(async () => {
    await plant("/ios_apps", {
      ios_app: { bundle_id: "com.acme.shop", team_id, name: "Acme Shop" },
    });
    await plant("/ios_apps", { ios_app: { bundle_id: "com.acme.one", team_id, name: "Twin" } });
    await plant("/ios_apps", { ios_app: { bundle_id: "com.acme.two", team_id, name: "Twin" } });
    await plant("/ios_apps", { ios_app: { bundle_id: "com.acme.lower", team_id, name: "twin" } });
  });

  test.each(["com.acme.shop", "Acme Shop", "acme shop", "COM.ACME.SHOP", " Acme Shop "])(
    "by %j, in one request",
    async (id) => {
      for (const world of [assistant, remote]) {
        const { structured, lookups } = await get(world, id, "get_ios_app");
        expect(structured.ios_app?.bundle_id).toBe("com.acme.shop");
        expect(lookups).toBe(1);
      }
    },
  );

  test("by a name that one has in just this case", async () => {
    const { structured } = await get(assistant, "twin", "get_ios_app");
    expect(structured.ios_app.bundle_id).toBe("com.acme.lower");
  });

  test("not by a name that two have: both are told", async () => {
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

  test("also among more apps than one page has", async () => {
    for (let number = 0; number < 100; number += 1) {
      await plant("/ios_apps", { ios_app: { bundle_id: `com.many.n${number}`, team_id } });
    }
    for (const id of ["com.acme.shop", "Acme shop"]) {
      const { structured } = await get(assistant, id, "get_ios_app");
      expect(structured.ios_app?.bundle_id, id).toBe("com.acme.shop");
    }
    expect((await get(assistant, "TWIN", "get_ios_app")).structured.error.problems).toHaveLength(3);
  });

  test("on a link by the same names", async () => {
    const { structured } = await assistant.callTool("update_link", {
      id: "spring",
      ios_app: { id: "Acme Shop" },
    });
    const { ios_app } = (await get(assistant, "com.acme.shop", "get_ios_app")).structured;
    const link = (await assistant.world.call("GET", `/links/${spring.id}`)).body;
    expect(link.ios_app_id, JSON.stringify(structured)).toBe(ios_app.id);
  });
});

test("a preview shows a link that is named by its address", async () => {
  await plant("/links", { path: "shown", social_title: "Spring has come" });
  const { structured } = await assistant.callTool("preview_template", {
    link_id: `${host}/shown`,
    html: true,
  });
  expect(JSON.stringify(structured)).toContain("Spring has come");
});

test.each(["spring", "default.localhost/spring", `http://${host}/spring`])(
  "resolve_short_link takes %j",
  async (url) => {
    const { structured } = await assistant.callTool("resolve_short_link", { url });
    expect(structured.link.id).toBe(spring.id);
  },
);

test("resolve_short_link takes a short path alone", async () => {
  const { structured } = await assistant.callTool("resolve_short_link", {
    url: spring.shortened_path,
  });
  expect(structured.link.id).toBe(spring.id);
});

test("explain_link hands an address's query on, with a scheme or without", async () => {
  await plant("/links", { path: "on", url: "https://shop.example/" });
  for (const id of [`http://${host}/on?utm=1`, `${host}/on?utm=1`, "on?utm=1"]) {
    const { structured } = await assistant.callTool("explain_link", { id });
    expect(structured.visits.desktop.to).toBe("https://shop.example/?utm=1");
  }
});

test.each([
  "spring",
  "Spring sale",
  `${host}/spring`,
  `https://${host}/spring/`,
  () => spring.id,
  () => spring.shortened_path,
])("shorten_link takes %s, and answers the short path that is there", async (name) => {
  const url = typeof name === "string" ? name : name();
  const { structured } = await assistant.callTool("shorten_link", { url });
  expect(structured.link?.shortened_path, JSON.stringify(structured)).toBe(spring.shortened_path);
});

test("shorten_link shortens with the query that stands behind a link's name", async () => {
  for (const url of ["spring?utm=mail", `${host}/spring?utm=mail`]) {
    const { structured } = await assistant.callTool("shorten_link", { url });
    expect(structured.link?.shortened_path).toBe(queried.shortened_path);
  }
});

test("shorten_link makes no link of what names none", async () => {
  const { error } = (await assistant.callTool("shorten_link", { url: "sprin" })).structured;
  expect(error).toMatchObject({ code: "not_found", effect: "none" });
  expect(error.problems[0].fix).toBe(`Use id "${spring.id}".`);
  const foreign = await assistant.callTool("shorten_link", { url: "elsewhere.example/spring" });
  expect(foreign.structured.error.code).toBe("validation_failed");
});

describe("an address as the path of a link", () => {
  test.each([`http://${host}/spring`, `${host}/spring/`, `HTTPS://${host}/spring?x=1`])(
    "of ours is the path of the link there: %s",
    async (path) => {
      const { structured } = await assistant.callTool("upsert_link", { path, name: "New" });
      expect(structured.link?.id, JSON.stringify(structured)).toBe(spring.id);
    },
  );

  test("with a slash at its end is that of the link without it", async () => {
    const args = { path: `http://${host}/slashed/`, name: "New" };
    const { structured } = await assistant.callTool("upsert_link", args);
    expect(structured.link).toMatchObject({ path: "slashed", name: "New" });
  });

  test("of ours is that of a new link, and of one that is moved there", async () => {
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

  test.each(["create_link", "upsert_link"])("of another host is refused by %s", async (tool) => {
    const path = "https://elsewhere.example/autumn";
    const { error } = (await assistant.callTool(tool, { path })).structured;
    expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
    expect(error.problems).toEqual([
      {
        field: "path",
        message: "Path is a whole address; pass only the part after the host, such as spring",
      },
    ]);
  });
});
