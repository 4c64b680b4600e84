/**
 * The app within which a browser says that it shows the page, by the name that people know, where
 * such browsers keep pages from opening other apps; undefined for every other browser.
 */
export function readInAppBrowser(agent: string): string | undefined {
  return browsers.find(({ pattern }) => pattern.test(agent))?.name;
}

/** Of two that fit, the first counts: Meta's other apps name Facebook's browser as well. */
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
