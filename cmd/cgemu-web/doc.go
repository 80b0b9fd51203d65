// Command cgemu-web is the page that shows profiles in a browser. Built for js/wasm it is the program in the page,
// which worker.js (package annotate/web/page) starts once for each report. On a host it puts the page together: make
// web.
package main
