import { describe, expect, test } from "vitest";
import {
  expectRefused,
  createServed,
  run,
  runJson,
  type Folder,
  type Serving,
  untilSeen,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost projects` while `serve` runs on the same data folder. */

let folder: Folder;
let serving: Serving;

openForAll(createServed, (served) => ({ folder, serving } = served));

const inFolder = (...words: readonly string[]) => ["projects", ...words, "--data", folder.path];
const update = async (...words: readonly string[]) => {
  const updated = await runJson(inFolder("update", "default", ...words));
  await untilSeen();
  return updated;
};

describe("a project managed in the CLI", () => {
  test("is created with the documented defaults and used by the running server", async () => {
    const made = await runJson(inFolder("create", "--name", "Shop", "--subdomain", "Shop"));
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Shop",
      subdomain: "shop",
      custom_domain: null,
      custom_domain_verified: false,
      links_count: 0,
      plan: "pro",
      templates_enabled: true,
      link_in_referrer: false,
      clipboard: false,
      max_links: 1000,
      destinations: null,
      home_url: null,
      not_found_url: null,
      suspended: false,
    });
    const { token } = await runJson(["keys", "create", "--data", folder.path, "--master"]);
    const { status, body } = await serving.call("GET", `/projects/${made.id}`, { key: token });
    const { id, name, subdomain, custom_domain, custom_domain_verified, links_count } = made;
    const shown = { id, name, subdomain, custom_domain, custom_domain_verified, links_count };
    expect([status, body]).toEqual([200, shown]);
  });

  test("can be created with every setting specified by flags", async () => {
    const settings = ["--plan", "free", "--max-links", "5", "--templates", "off"];
    const switches = ["--link-in-referrer", "on", "--suspend", "on"];
    const domain = ["--custom-domain", "Go.Example.com", "--assume-verified"];
    const names = ["--name", "All", "--subdomain", "all"];
    const addresses = ["--home", "https://a.example/", "--not-found", "https://a.example/404"];
    const words = [...names, ...settings, ...switches, ...domain, ...addresses];
    expect(await runJson(inFolder("create", ...words))).toMatchObject({
      plan: "free",
      max_links: 5,
      templates_enabled: false,
      link_in_referrer: true,
      suspended: true,
      custom_domain: "go.example.com",
      custom_domain_verified: true,
      home_url: "https://a.example/",
      not_found_url: "https://a.example/404",
    });
    expect((await run(inFolder("list"))).stdout).toContain("home page redirects to https://a.e");
    const cleared = ["update", "all", "--home", "", "--not-found", ""];
    expect(await runJson(inFolder(...cleared))).toMatchObject({
      home_url: null,
      not_found_url: null,
    });
  });

  test("is listed in creation order with its link count and settings", async () => {
    await serving.call("POST", "/links", { body: { path: "counted" } });
    const { projects } = await runJson(inFolder("list"));
    expect(projects).toMatchObject([{ subdomain: "default", links_count: 1 }, {}, {}]);
    const { stdout, stderr } = await run(inFolder("list"));
    expect(stderr).toBe("");
    const [head, ...rows] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^ID +SUBDOMAIN +NAME +LINKS +SETTINGS$/);
    expect(rows).toHaveLength(projects.length);
    expect(rows[0]).toMatch(/ default +Default +1 +pro plan, templates on$/);
  });

  test("can be updated; its ID is printed to stdout and a summary to stderr", async () => {
    const { code, stdout, stderr } = await run(inFolder("update", "default", "--name", "Renamed"));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
    expect(stderr).toBe(
      'Project "Renamed" (default): pro plan, templates on.\n' +
        'Changed name from "Default" to "Renamed".\n',
    );
    const again = await run(inFolder("update", "default", "--name", "Renamed"));
    expect(again.stderr).toMatch(/\nNothing changed\.\n$/);
    const { projects } = await runJson(inFolder("list"));
    expect(projects[0]).toMatchObject({ id: stdout.trim(), name: "Renamed" });
  });
});

test("changing a project's subdomain prints a warning that the old URLs stop working", async () => {
  await runJson(inFolder("create", "--name", "Winter", "--subdomain", "winter"));
  const { code, stderr } = await run(inFolder("update", "winter", "--subdomain", "summer"));
  expect(code).toBe(0);
  expect(stderr).toContain('Changed subdomain from "winter" to "summer".\n');
  expect(stderr).toMatch(/Its links are now at http:\/\/summer\.\S*\. Their old addresses at /);
  expect(stderr).toMatch(/ at http:\/\/winter\.localhost\S* no longer work\.\n$/);
});

async function create(body: object): Promise<number | string> {
  const reply = await serving.call("POST", "/links", { body });
  return reply.status === 201 ? 201 : `${reply.status} ${reply.body.error}`;
}

async function resolve(url: string): Promise<number> {
  const given = { key: null, body: { url } };
  return (await serving.call("POST", "/short_links/resolve", given)).status;
}

describe("a project change, which takes effect within a second", () => {
  test("a suspended project's API requests are denied until the suspension ends", async () => {
    await update("--suspend", "on");
    expect(await create({})).toBe("401 Account is suspended.");
    await update("--suspend", "off");
    expect(await create({})).toBe(201);
  });

  test("a custom domain opens links only while the domain is verified", async () => {
    await create({ path: "sale" });
    const asked = ["https://links.shop.example/sale", "https://new.shop.example/sale"];
    const answers = async () => Promise.all(asked.map(resolve));

    await update("--custom-domain", "links.shop.example");
    expect(await answers()).toEqual([404, 404]);
    await update("--assume-verified");
    expect(await answers()).toEqual([200, 404]);
    const moved = await update("--custom-domain", "new.shop.example");
    expect(moved.custom_domain_verified).toBe(false);
    expect(await answers()).toEqual([404, 404]);
    await update("--assume-verified");
    expect(await answers()).toEqual([404, 200]);
    expect(await update("--custom-domain", "")).toMatchObject({ custom_domain: null });
    expect(await answers()).toEqual([404, 404]);
  });

  test("new links can point only to allowed hosts until all hosts are allowed again", async () => {
    const changed = await update("--destinations", "Shop.example., *.Müller.example");
    expect(changed.destinations).toBe("shop.example,*.xn--mller-kva.example");
    expect(await create({ url: "https://evil.example/" })).toBe(
      "422 Url must point to one of the allowed hosts " +
        "(shop.example, *.xn--mller-kva.example), not to evil.example",
    );
    expect(await create({ url: "https://a.müller.example/" })).toBe(201);
    const { stdout } = await run(inFolder("list"));
    expect(stdout).toContain(", destinations limited to shop.example,*.xn--mller-kva.example");
    expect(await update("--destinations", "any")).toMatchObject({ destinations: null });
    expect(await create({ url: "https://evil.example/" })).toBe(201);
  });

  test("links open at the new subdomain and no longer at the old one", async () => {
    const [, port = ""] = /:(\d+)$/.exec(serving.places.url) ?? [];
    const asked = ["default", "moved"].map((name) => `http://${name}.localhost:${port}/sale`);
    const answers = async () => Promise.all(asked.map(resolve));
    await create({ path: "sale" });
    expect(await answers()).toEqual([200, 404]);
    await update("--subdomain", "moved");
    expect(await answers()).toEqual([404, 200]);
    await runJson(inFolder("update", "moved", "--subdomain", "default"));
  });
});

describe.concurrent("waypost projects", () => {
  const names = ["--name", "New", "--subdomain", "new"];
  test.each([
    [["create"], "Name can't be blank and Subdomain can't be blank"],
    [["create", "--name", "New"], "Subdomain can't be blank"],
    [["create", "--name", "New", "--subdomain", "default"], "Subdomain has already been taken"],
    [["create", "--name", "New", "--subdomain", "no good"], "Subdomain is invalid"],
    [["create", ...names, "--custom-domain", "localhost"], "Custom domain is invalid"],
    [["create", ...names, "--plan", "gold"], "--plan takes free or pro"],
    [["create", ...names, "--max-links", "many"], "--max-links takes a whole number"],
    [["create", ...names, "--max-links=-1"], "--max-links takes a whole number"],
    [["create", ...names, "--templates", "yes"], "--templates takes on or off"],
    [["create", ...names, "--link-in-referrer", "1"], "--link-in-referrer takes on or off"],
    [["create", ...names, "--suspend", "true"], "--suspend takes on or off"],
    [["create", ...names, "--verify-domain"], "--verify-domain is only for projects update"],
    [["list", ...names], "takes no flag but --json"],
    [["create", ...names, "--assume-verified"], "--assume-verified needs a custom domain"],
    [["update", "default", "--verify-domain"], "--verify-domain needs a custom domain"],
    [["create", ...names, "--destinations", "https://a.example"], "--destinations cannot contain "],
    [["update", "default", "--destinations", "*"], "--destinations cannot contain "],
    [["update", "default", "--home", "shop.example"], "Home url must be an http or https address"],
    [["update", "default", "--home", "market://details?id=a"], "Home url must be an http or https"],
    [
      ["update", "default", "--not-found", "http://Default.localhost:9/x"],
      "404 page is on the project's own link host, so visitors would be redirected in a loop",
    ],
    [
      ["update", "default", "--home", "https://b.example", "--destinations", "a.example"],
      "Home url must point to one of the allowed hosts (a.example), not to b.example",
    ],
    [
      ["create", ...names, "--custom-domain", "a.shop.example", "--home", "https://a.shop.example"],
      "Home url is on the project's own link host",
    ],
    [["create", "shop", ...names], "use projects create"],
    [["update", "nowhere", "--plan", "pro"], "the project nowhere does not exist"],
    [["update"], "use projects create"],
    [["update", "default", "--role", "owner"], "unknown flag --role"],
    [["delete", "default"], "use projects create"],
  ])("refuses %j with a one-line error and exit code 2", async (words, message) => {
    expectRefused(await run(inFolder(...words)), message);
  });
});
