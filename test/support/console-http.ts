import { browse, type Browsing } from "./browse.ts";
import type { Serving } from "./command.ts";

/** The console as the network sees it, for somebody who is signed in. */

export async function signInAt(
  { places, key }: Pick<Serving, "places" | "key">,
  shown = key,
): Promise<Browsing> {
  const tab = browse(places.url);
  await tab.open("/sign-in");
  await tab.submit({ key: shown });
  return tab;
}

/** What each form of the session has. */
export async function readFormToken(tab: Browsing): Promise<string> {
  const { text } = await tab.open("/");
  return /name="form_token" value="([^"]+)"/.exec(text.replace(/\s+/g, " "))?.[1] ?? "";
}
