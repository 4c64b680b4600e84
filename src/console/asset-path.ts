/**
 * The path of styles and scripts, below the sign-in page, because signed-out visitors need them.
 */
export const assetPath = "/sign-in/files/";
