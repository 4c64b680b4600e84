export function fetchNode(version: string): string;
