import type { Platform } from "./decide-visit.ts";

/** Browsers send shorter headers. Searching longer ones would slow down every visit. */
const agent_characters = 512;

/** The User-Agent header, shortened. */
export function readAgent(headers: { readonly "user-agent"?: string | undefined }): string {
  return (headers["user-agent"] ?? "").slice(0, agent_characters);
}

/**
 * The system of a browser. Safari on an iPad sends the headers of a Mac, so it is treated as a
 * desktop. Other browsers on an iPad also do, but their names exist only on iOS.
 */
export function readPlatform(agent: string): Platform {
  // The last Windows phones claimed to be every other system.
  if (agent.includes("Windows Phone")) return "desktop";
  if (/iPhone|iPad|iPod|\b(?:CriOS|FxiOS|EdgiOS|OPiOS)\//.test(agent)) return "ios";
  return /Android/i.test(agent) ? "android" : "desktop";
}

/**
 * The app whose in-app browser shows the page, if such browsers do not open other apps; undefined
 * for other browsers.
 */
export function readInAppBrowser(agent: string): string | undefined {
  return browsers.find(({ pattern }) => pattern.test(agent))?.name;
}

/** The first match is used, because Meta's other apps also name Facebook's browser. */
const browsers: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: "Instagram", pattern: /\bInstagram\b/ },
  { name: "Threads", pattern: /\bBarcelona \d/ },
  { name: "Messenger", pattern: /\bFBAN\/Messenger|\bFB_IAB\/(?:MESSENGER|Orca)/ },
  { name: "Facebook", pattern: /\bFBA[NV]\/|\bFB_IAB\// },
  { name: "TikTok", pattern: /\b(?:musical_ly|trill_|BytedanceWebview|TikTok)/ },
  { name: "LinkedIn", pattern: /\bLinkedInApp\b/ },
  { name: "WeChat", pattern: /\bMicroMessenger\// },
  { name: "Weibo", pattern: /\bWeibo\b/ },
  { name: "QQ", pattern: /\bQQ\/\d/ },
];
