import { expect, test } from "vitest";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** What visitors see of a deleted and restored link. */

const url = "https://shop.example/spring";
const iPhone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1";

let host: LinkHost;
openForEach(openLinkHost, (opened) => (host = opened));

async function ask(method: string, path: string): Promise<void> {
  const { status, text } = await host.world.call(method, path);
  expect(status, text).toBeLessThan(300);
}

test("a deleted link's paths and QR code return 404 until the link is restored", async () => {
  const { id, path, shortened_path } = await host.add("link", {
    path: "spring",
    url,
    options: { shorten: true },
  });
  const visitAll = async () => {
    const paths = [path, shortened_path, `${path}.qr`];
    const visited = await Promise.all(paths.map((one) => host.visit(`/${one}`)));
    return visited.map(({ status, headers }) => headers.location ?? status);
  };
  expect(await visitAll()).toEqual([url, url, 200]);
  await ask("DELETE", `/links/${id}`);
  expect(await visitAll()).toEqual([404, 404, 404]);
  await ask("POST", `/links/${id}/restore`);
  expect(await visitAll()).toEqual([url, url, 200]);
  expect(await host.readClicks(id)).toBe(4);
});

test("a deleted app is left out of association files and pages until it is restored", async () => {
  const app = await host.add("ios_app", {
    bundle_id: "com.shop",
    team_id: "TEAM000001",
    app_store_id: "42",
  });
  await host.add("link", { path: "spring", url, ios_app: { id: app.id } });
  const look = async () => {
    const file = await host.visit("/.well-known/apple-app-site-association");
    const page = await host.visit("/spring", { agent: iPhone });
    const shown = page.headers.location ?? page.text;
    return [file.text.includes("TEAM000001.com.shop"), /id42\b/.test(shown)];
  };
  expect(await look()).toEqual([true, true]);
  await ask("DELETE", `/ios_apps/${app.id}`);
  expect(await look()).toEqual([false, false]);
  await ask("POST", `/ios_apps/${app.id}/restore`);
  expect(await look()).toEqual([true, true]);
});
