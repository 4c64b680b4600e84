import { createServer } from "node:http";
import { expect, test } from "vitest";
import { decideInTab, launchBrowser, openTab } from "../../support/browser.ts";
import { createFolder, startServe } from "../../support/command.ts";
import { findFreePort, listen, startSession, visit } from "../../support/listening.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** What a session over stdio alone tells a person to open, opened in a real browser. */

/** A headless browser says that it is one, and is taken for a bot. */
const userAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/121.0.0.0 Safari/537.36";

test("a link, a preview and an approval of a fresh folder open, whoever listens", async () => {
  const shop = createServer((_, response) => void response.end("the spring sale"));
  const destination = `http://127.0.0.1:${await listen(shop, 0)}/sale`;
  const browser = await launchBrowser();
  await using folder = await createFolder();
  const place = { data: folder.path, port: await findFreePort() };
  try {
    await using session = await startSession(place);
    const { link } = await session.call("create_link", { path: "spring", url: destination });
    const { preview_url } = await session.call("preview_template", { link_id: "spring" });
    const { error } = await session.call("delete_link", { id: "spring" });
    const tab = await openTab(browser, { userAgent });
    const openBoth = async () => {
      await waitUntil(async () => (await visit(link.address))?.status === 302);
      expect((await tab.goto(preview_url))?.status()).toBe(200);
      expect(await tab.locator("body").innerText()).not.toBe("");
      await tab.goto(link.address);
      expect(tab.url()).toBe(destination);
      expect(await tab.locator("body").innerText()).toBe("the spring sale");
    };
    await openBoth();
    {
      await using serving = await startServe(folder.path, ["--port", `${place.port}`]);
      await openBoth();
      await serving.stop("SIGKILL");
    }
    await using second = await startSession(place);
    await second.listTools();
    await openBoth();
    await session.stop("SIGKILL");
    await second.listTools();
    await openBoth();
    const text = await decideInTab(tab, error.approval.url, "approve");
    expect(text).toContain('Delete the link "spring"');
    const { change } = await second.call("delete_link", { id: "spring" });
    expect(change).toBeDefined();
    expect((await tab.goto(link.address))?.status()).toBe(404);
  } finally {
    await browser.close();
    shop.close();
    shop.closeAllConnections();
  }
});
