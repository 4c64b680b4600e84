import { expect, test } from "vitest";
import { openConsole, pressOnto, lookAtPage } from "../support/browser.ts";
import { createServed } from "../support/command.ts";
import { signInAt } from "../support/console.ts";

/** The domain page of the console. The host works only on this machine: no network is used. */

test("the domain page runs checks on request and lists what keeps apps from opening", async () => {
  await using served = await createServed();
  const { serving } = served;
  const { page, complaints } = await openConsole(serving);
  await page.goto(`${serving.places.url}/domain`);
  expect(await page.getByRole("status").count()).toBe(0);
  await pressOnto(page, /^Check now$/);
  await page.getByText("Problems found").waitFor();
  await page.getByText("works only on this machine, so phones cannot reach it").waitFor();
  await page.getByRole("heading", { name: "Prevents apps from opening" }).waitFor();
  await lookAtPage(page, "domain");
  expect(complaints).toEqual([]);

  // Hosts that are not the project's are only shown.
  const tab = await signInAt(serving);
  await tab.open("/domain");
  const foreign = await tab.submit({ host: '169.254.169.254"><script>' });
  expect(foreign.status).toBe(422);
  expect(foreign.text).toContain("verified hosts. This key&#39;s hosts are default.localhost");
  expect(foreign.text).not.toContain('"><script>');
  await tab.open("/domain");
  expect((await tab.submit({ host: "" })).text).toContain("Problems found");
});
