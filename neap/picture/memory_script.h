// SPDX-License-Identifier: Apache-2.0
//
// What the memory page does beyond its drawings: a step under the pointer or the arrow keys, and
// the budget. Text only ever enters the page as text nodes. Private to neap/picture.
#pragma once

namespace neap::picture {

inline constexpr const char* kMemoryScript = R"js(
(function(){
const data=JSON.parse(document.getElementById("neap-data").textContent);
document.documentElement.classList.add("js");
const num=n=>n.toString().replace(/\B(?=(\d{3})+(?!\d))/g,",");
const add=(to,name,text,cls)=>{const e=document.createElement(name);e.textContent=text;if(cls)e.className=cls;to.appendChild(e);return e};
const liveAt=(run,s)=>run.buffers.map((b,i)=>({b,i})).filter(x=>x.b[3]<=s&&s<x.b[4]&&x.b[2]>0).sort((x,y)=>y.b[2]-x.b[2]);
const views=data.runs.map((run,r)=>{
  const root=document.querySelector('[data-run="'+r+'"]');
  const view={run,root,told:root.querySelector(".told"),step:-1,draws:[...root.querySelectorAll(".draw")]};
  view.rects=new Map([...root.querySelectorAll("rect.b")].map(e=>[Number(e.dataset.i),e]));
  return view;
});
const x=(svg,s)=>{const d=svg.dataset;return Number(d.left)+(Number(d.right)-Number(d.left))*s/Math.max(1,Number(d.steps))};
const y=(svg,bytes)=>{const d=svg.dataset;return Number(d.bottom)-(Number(d.bottom)-Number(d.top))*Math.min(1,bytes/Number(d.most))};
function show(view,s){
  const run=view.run,n=run.live.length;
  if(n===0)return;
  s=Math.max(0,Math.min(n-1,s));
  view.step=s;
  const live=liveAt(run,s);
  for(const e of view.rects.values())e.classList.remove("lit");
  for(const l of live){const e=view.rects.get(l.i);if(e)e.classList.add("lit")}
  for(const draw of view.draws){
    const svg=draw.querySelector("svg"),c=svg.querySelector(".cursor");
    c.setAttribute("x",x(svg,s));c.setAttribute("width",Math.max(2,x(svg,s+1)-x(svg,s)));
  }
  view.told.replaceChildren();
  add(view.told,"strong","Step "+s+" of "+n+", "+run.steps[s]+": "+num(run.live[s])+" B live. ");
  add(view.told,"span",live.slice(0,8).map(l=>l.b[0]+" "+num(l.b[2])).join(" + ")+(live.length>8?" + "+(live.length-8)+" more":""));
}
for(const view of views){
  for(const draw of view.draws){
    const svg=draw.querySelector("svg");
    const at=e=>{const box=svg.getBoundingClientRect(),vb=svg.viewBox.baseVal,d=svg.dataset;
      const px=(e.clientX-box.left)*vb.width/box.width;
      return Math.floor((px-Number(d.left))/(Number(d.right)-Number(d.left))*Number(d.steps))};
    svg.addEventListener("pointermove",e=>show(view,at(e)));
    draw.addEventListener("keydown",e=>{
      const n=view.run.live.length,now=view.step<0?view.run.peak_step:view.step;
      const to={ArrowRight:now+1,ArrowLeft:now-1,PageDown:now+10,PageUp:now-10,Home:0,End:n-1,p:view.run.peak_step}[e.key];
      if(to===undefined)return;
      e.preventDefault();show(view,to);
    });
    draw.addEventListener("focus",()=>{if(view.step<0)show(view,view.run.peak_step)});
  }
}
for(const view of views)show(view,view.run.peak_step);
const slider=document.getElementById("budget"),out=document.getElementById("verdict");
function area(svg,live,budget){
  let d="";
  for(let s=0;s<live.length;s++)if(live[s]>budget){
    d+="M"+x(svg,s)+" "+y(svg,budget)+"V"+y(svg,live[s])+"H"+x(svg,s+1)+"V"+y(svg,budget)+"Z";
  }
  return d;
}
function budget(){
  const bytes=Number(slider.value);
  out.replaceChildren();
  document.getElementById("budget-value").textContent=num(bytes)+" B";
  for(const view of views){
    const run=view.run;
    for(const draw of view.draws){
      const svg=draw.querySelector("svg"),line=svg.querySelector(".budget"),over=svg.querySelector(".over");
      line.setAttribute("y1",y(svg,bytes));line.setAttribute("y2",y(svg,bytes));line.removeAttribute("visibility");
      if(over)over.setAttribute("d",area(svg,run.live,bytes));
    }
    const over=run.live.filter(l=>l>bytes).length,p=add(out,"p","");
    add(p,"strong",run.title+": ");
    if(over===0){
      const arena=run.arena_bytes;
      const fits=arena>0&&arena>bytes?"every step fits, its addresses do not: the arena needs "+num(arena)+" B":"it fits";
      add(p,"span",fits+".",arena>bytes?"bad":"good");continue;
    }
    const worst=run.peak_step,live=liveAt(run,worst);
    add(p,"span",over+" of "+run.live.length+" steps are over, the worst by "+num(run.live[worst]-bytes)+" B","bad");
    add(p,"span"," ("+run.steps[worst]+"). What would have to shrink there: ");
    add(p,"span",live.slice(0,6).map(l=>l.b[0]+" "+num(l.b[2])).join(", ")+(live.length>6?", and "+(live.length-6)+" more":"")+".");
  }
}
slider.addEventListener("input",budget);
budget();
})();
)js";

}  // namespace neap::picture
