import type { Platform } from "./decide-visit.ts";

/** Reads a visitor's platform and in-app browser from the User-Agent header. */

/** No browser sends a longer User-Agent header. Searching long headers would slow down visits. */
const agent_characters = 512;

export function readAgent(headers: { readonly "user-agent"?: string | undefined }): string {
  return (headers["user-agent"] ?? "").slice(0, agent_characters);
}

/**
 * Returns a browser's platform. An iPad sends the headers of a Mac, so Safari on an iPad counts as
 * a desktop. Other browsers on an iPad are recognized by names that exist only on iOS.
 */
export function readPlatform(agent: string): Platform {
  // Windows phones also send the names of iOS and Android.
  if (agent.includes("Windows Phone")) return "desktop";
  if (/iPhone|iPad|iPod|\b(?:CriOS|FxiOS|EdgiOS|OPiOS)\//.test(agent)) return "ios";
  return /Android/i.test(agent) ? "android" : "desktop";
}

/** Returns the app whose in-app browser shows the page, if that browser cannot open other apps. */
export function readInAppBrowser(agent: string): string | undefined {
  return browsers.find(({ pattern }) => pattern.test(agent))?.name;
}

/** The order matters, because Facebook's pattern also matches the browsers of Meta's other apps. */
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
