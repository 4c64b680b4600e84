/** What is tried to find out what a key may do; `all` is also what creates, shortens or deletes. */
export const probeLevels = ["on", "off", "all"] as const;
export type ProbeLevel = (typeof probeLevels)[number];
