import { expect, test } from "vitest";
import { createFolder, startServe, type Serving } from "../support/command.ts";
import { visitAt, type Visited } from "../support/link-host.ts";

/** Page templates with the built command, whose single file must contain the parser. */

const iphone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/17.2 Mobile/15E148 Safari/604.1";

function visit({ places }: Serving, path: string): Promise<Visited> {
  const { port, host } = new URL(places.links.replace("{subdomain}", "default"));
  return visitAt(Number(port), path, { host, agent: iphone });
}

test("a template is validated, published, shown for a link and unpublished", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path);
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "1" };
  await serving.call("POST", "/links", {
    body: { path: "spring", social_title: "Spring", ios_app },
  });

  const broken = { body: "<script>x</script>{% store_buttons %}", css: "a{behavior:x}" };
  const refused = await serving.call("PATCH", "/page_template", { body: broken });
  expect(refused).toMatchObject({
    status: 422,
    body: { problems: [{ field: "body" }, { field: "css" }] },
  });

  const body = { body: "<h1>{{ link.name }}!</h1>{% store_buttons %}", css: "h1{color:red}" };
  const published = await serving.call("POST", "/page_template/publish", { body });
  expect(published).toMatchObject({ status: 200, body: { live_version: { live: true, ...body } } });
  const { text } = await visit(serving, "/spring");
  expect(text).toContain("<h1>Spring!</h1>");
  expect(text).toContain("h1{color:red}");
  expect(text).toContain("https://apps.apple.com/app/id1");

  const preview = await serving.call("POST", "/page_template/preview");
  expect(preview).toMatchObject({
    status: 200,
    text: expect.stringContaining("<h1>Spring sale: 20% off everything!</h1>"),
  });

  const { bytes } = await visit(serving, "/spring.qr?format=png");
  expect(bytes.subarray(1, 4).toString()).toBe("PNG");

  expect((await serving.call("POST", "/page_template/unpublish")).status).toBe(200);
  expect((await visit(serving, "/spring")).text).not.toContain("Spring!");
});
